import { readFileSync } from 'node:fs';

/** Of the product, as its package says. */
export const version = readVersion();

/** From the package this file belongs to: two levels up in the sources, three in the build. */
function readVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      return String(JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version);
    } catch {
      // Not there: the next place.
    }
  }
  return 'unknown';
}
