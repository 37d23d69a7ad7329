import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const LOG_BYTES_MAX = 10 * 1024 * 1024;
const TAIL_BYTES = 8 * 1024;

/** Returns the last lines of a log, or '' if there is no log. */
export function lastLines(path: string, count: number): string {
  if (!existsSync(path)) return '';
  const file = openSync(path, 'r');
  try {
    const sizeBytes = fstatSync(file).size;
    const tail = Buffer.alloc(Math.min(sizeBytes, TAIL_BYTES));
    readSync(file, tail, 0, tail.length, sizeBytes - tail.length);
    return tail.toString('utf8').trimEnd().split('\n').slice(-count).join('\n');
  } finally {
    closeSync(file);
  }
}

/** Empties every log of the directory that is larger than 10 MB. */
export function emptyLargeLogs(directory: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (statSync(path).size > LOG_BYTES_MAX) truncateSync(path);
  }
}
