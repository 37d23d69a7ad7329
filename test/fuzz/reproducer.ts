import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FuzzRequest } from './requests/request.ts';
import type { World } from './world.ts';

const inlineBytesMax = 1_500;

/**
 * A request as a curl command for any instance: `$B` is its address, `$K` a full key, `$P` the project, `$W` the workspace, `$T` a
 * user's token, `$A` the admin key. A body that does not fit in a line is written to `directory`.
 */
export function toCurl(request: FuzzRequest, world: World, directory: string): string {
  const { method, target, headers, body } = request;
  const parts = [`curl -sS -i -X ${method} --path-as-is "$B${inDoubleQuotes(target)}"`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H "${inDoubleQuotes(`${name}: ${value}`)}"`);
  if (body !== undefined && body.length > 0) parts.push(bodyArgument(body, directory));
  if (request.chunked) parts.push('-H "Transfer-Encoding: chunked"');
  return variables(world).reduce((text, [name, value]) => text.replaceAll(value, name), parts.join(' '));
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
  mkdirSync(directory, { recursive: true });
  const file = join(
    directory,
    `${body.length}-${body.reduce((sum, byte) => (sum * 31 + byte) >>> 0, 7).toString(16)}.bin`,
  );
  writeFileSync(file, body);
  return `--data-binary @${file}`;
}
