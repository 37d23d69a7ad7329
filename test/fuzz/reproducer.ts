import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FuzzRequest } from './requests/request.ts';
import type { World } from './world.ts';

const inlineBytesMax = 1_500;
const commandCharsMax = 2_500;

/**
 * Returns a request as a curl command for any instance. `$B` is its address, `$K` a key with all
 * scopes, `$P` the project, `$W` the workspace, `$T` a user's token, and `$A` the admin key. A long
 * body or command is written to a file in `directory`.
 */
export function toCurl(request: FuzzRequest, world: World, directory: string): string {
  const { method, target, headers, body } = request;
  const parts = [`curl -sS -i -X ${method} --path-as-is "$B${inDoubleQuotes(target)}"`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H "${inDoubleQuotes(`${name}: ${value}`)}"`);
  if (body !== undefined && body.length > 0) parts.push(bodyArgument(body, directory));
  if (request.chunked) parts.push('-H "Transfer-Encoding: chunked"');
  const command = variables(world).reduce((text, [name, value]) => text.replaceAll(value, name), parts.join(' '));
  if (command.length <= commandCharsMax) return command;
  return `sh ${written(Buffer.from(`${command}\n`), directory, 'sh')}`;
}

function variables({ attacker, adminKey }: World): (readonly [string, string])[] {
  return [
    ['$K', attacker.apiKey],
    ['$P', attacker.projectId],
    ['$W', attacker.workspaceId],
    ['$T', attacker.token],
    ['$A', adminKey],
  ];
}

const inDoubleQuotes = (text: string) => text.replaceAll(/["\\$`]/g, '\\$&');

function bodyArgument(body: Buffer, directory: string): string {
  const text = body.toString();
  const isPlain = body.length <= inlineBytesMax && Buffer.from(text).equals(body) && /^[\x20-\x7e]*$/.test(text);
  if (isPlain) return `--data-binary '${text.replaceAll("'", `'\\''`)}'`;
  return `--data-binary @${written(body, directory, 'bin')}`;
}

function written(bytes: Buffer, directory: string, extension: string): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}.${extension}`);
  writeFileSync(file, bytes);
  return file;
}
