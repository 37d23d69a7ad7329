import { mapInSlices, type Rest } from '../lib/pace.ts';
import type { Result, ResultMeta, Status } from './contract.ts';

/** Fields of bodies that can be long lists. A body has one of them at most. */
const listFields = ['data', 'series'] as const;

interface ObjectResult extends ResultMeta {
  status: Status;
  body: Readonly<Record<string, unknown>>;
}

/** Longer lists become bytes here, in slices; shorter ones are written together with the headers. */
const textLengthMax = 64 * 1024;

/**
 * Converts a body with a list to JSON in slices, because a list has up to megabytes; other results stay as they are.
 * Call it while the request has its place in a lane, which bounds how many lists a sharer has at a time.
 */
export async function convertList(result: Result, rest: Rest): Promise<Result> {
  if (!hasObject(result)) return result;
  const { body, ...others } = result;
  for (const name of listFields) {
    const items = body[name];
    if (!Array.isArray(items)) continue;
    return { ...others, contentType: 'application/json', content: await listContent(body, { name, items }, rest) };
  }
  return result;
}

function hasObject(result: Result): result is ObjectResult {
  return 'body' in result && typeof result.body === 'object' && result.body !== null;
}

/** Returns the same JSON as `JSON.stringify` of the body. */
async function listContent(
  body: ObjectResult['body'],
  { name, items }: { name: string; items: readonly unknown[] },
  rest: Rest,
): Promise<string | Uint8Array> {
  const toText = (item: unknown, index: number) => `${index === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`;
  const texts = await mapInSlices(items, toText, rest);
  const names = Object.keys(body);
  const at = names.indexOf(name);
  // `JSON.stringify` with names would apply them to the objects within, too.
  const jsonOf = (some: readonly string[]) =>
    JSON.stringify(Object.fromEntries(some.map((each) => [each, body[each]])));
  const [start, end] = [jsonOf(names.slice(0, at)).slice(0, -1), jsonOf(names.slice(at + 1)).slice(1)];
  const pieces = [`${start}${start === '{' ? '' : ','}"${name}":[`, ...texts, end === '}' ? ']}' : `],${end}`];
  if (texts.reduce((sum, { length }) => sum + length, 0) <= textLengthMax) return pieces.join('');
  return Buffer.concat(await mapInSlices(pieces, (piece) => Buffer.from(piece), rest));
}
