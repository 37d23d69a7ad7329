import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * Replaces the file in one step. Only its owner can read it. A reader gets the old or the new
 * content, never a part.
 */
export function replaceJson(path: string, value: unknown): void {
  const partial = `${path}.${process.pid}.tmp`;
  writeFileSync(partial, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(partial, path);
}

/** Returns the text of a file, or undefined if there is no file. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
