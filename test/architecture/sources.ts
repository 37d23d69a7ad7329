import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { SourceFile } from './check.ts';

const root = join(import.meta.dirname, '../..');
const folders = ['src', 'workers', 'migrations', 'dev', 'test', 'bench'];

/** Returns every TypeScript file that the rules apply to. */
export function sources(): SourceFile[] {
  const inFolders = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    );
  return inFolders
    .filter((name) => /\.m?ts$/.test(name) && !/\b(?:fixtures|node_modules)\b/.test(name))
    .map((name) => ({
      path: name.split(sep).join('/'),
      text: readFileSync(join(root, name), 'utf8'),
    }));
}
