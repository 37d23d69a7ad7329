import { readFileSync } from 'node:fs';

/** Version of the product, from its package.json. */
export const version = readVersion();

/** Reads package.json: one directory above this file in the sources, two above in the build. */
function readVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      return String(JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version);
    } catch {
      // Try the next path.
    }
  }
  return 'unknown';
}
