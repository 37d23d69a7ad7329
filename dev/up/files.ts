import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Replaces the file in one step, readable by its owner only: a reader sees the old content or the new, never a part. */
export function replaceJson(path: string, value: unknown): void {
  const partial = `${path}.${process.pid}.tmp`;
  writeFileSync(partial, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(partial, path);
}

/** The text of a file, undefined when there is none. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
