import { mapInSlices, type Rest } from '../lib/pace.ts';
import type { Result, ResultMeta, Status } from './contract.ts';

/** A list as API.md has it: its items are `data`. */
interface ListResult extends ResultMeta {
  status: Status;
  body: { data: unknown[] };
}

/** Longer lists become bytes here, in slices; shorter ones are written together with the headers. */
const textLengthMax = 64 * 1024;

/**
 * Converts a list to JSON in slices, because a page has up to megabytes; other results stay as they are. Call it
 * while the request has its place in a lane, which bounds how many lists a sharer has at a time.
 */
export async function convertList(result: Result, rest: Rest): Promise<Result> {
  if (!isList(result)) return result;
  const { body, ...others } = result;
  return { ...others, contentType: 'application/json', content: await listContent(body, rest) };
}

function isList(result: Result): result is ListResult {
  if (!('body' in result) || typeof result.body !== 'object' || result.body === null) return false;
  return 'data' in result.body && Array.isArray(result.body.data);
}

/** Returns the same JSON as `JSON.stringify`, with `data` first. */
async function listContent({ data, ...others }: ListResult['body'], rest: Rest): Promise<string | Uint8Array> {
  const toText = (item: unknown, index: number) => `${index === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`;
  const items = await mapInSlices(data, toText, rest);
  const end = JSON.stringify(others).slice(1);
  const pieces = ['{"data":[', ...items, end === '}' ? ']}' : `],${end}`];
  if (items.reduce((sum, { length }) => sum + length, 0) <= textLengthMax) return pieces.join('');
  return Buffer.concat(await mapInSlices(pieces, (piece) => Buffer.from(piece), rest));
}
