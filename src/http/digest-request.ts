import { createHash, type Hash } from 'node:crypto';
import { fingerprintOf, sortFields } from '../lib/cursor.ts';
import { mapInSlices, Pace, sharedThird } from '../lib/pace.ts';
import type { QueryValues } from './query.ts';
import type { PathParams } from './validate.ts';

/** To parse, check and digest a larger body in one turn would take too long. */
const restedBytesMin = 96 * 1024;

/**
 * Returns a digest that is equal for equal requests, whatever the order of fields and parameters.
 * Lists in the body, and lists in its fields, are digested in slices, so that other requests run in between. The
 * digest of a request must stay the same over versions, because keys are stored for a day.
 */
export async function digestRequest(
  request: { params: PathParams; query: QueryValues; body: unknown },
  { sharer, bytes }: { sharer: string; bytes: number },
): Promise<Buffer> {
  if (bytes > restedBytesMin) await sharedThird(sharer)();
  const hash = createHash('sha256');
  const { body, ...others } = request;
  if (typeof body !== 'object' || body === null) return hash.update(fingerprintOf(request)).digest();
  const prints = Object.entries(sortFields(body)).filter(([, value]) => value !== undefined);
  // What is digested is one JSON text. `body` comes first in it, because its fields are in order.
  hash.update('{"body":{');
  for (const [index, [key, value]] of prints.entries()) {
    hash.update(`${index > 0 ? ',' : ''}${JSON.stringify(key)}:`);
    if (Array.isArray(value)) hash.update(JSON.stringify([await digestList(value, sharer)]));
    else await digestField(hash, value, sharer);
  }
  return hash.update(`},${fingerprintOf(others).slice(1)}`).digest();
}

/** Digests the fingerprint of a field as a JSON string. */
async function digestField(hash: Hash, value: unknown, sharer: string): Promise<void> {
  const pace = new Pace(sharedThird(sharer));
  hash.update('"');
  for (const piece of piecesOf(value)) {
    await pace.rest();
    hash.update(JSON.stringify(piece).slice(1, -1));
  }
  hash.update('"');
}

/** Returns the fingerprint of a value in pieces: each item of the lists that are its fields is a piece. */
function* piecesOf(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null || !Object.values(value).some(Array.isArray)) {
    yield fingerprintOf(value);
    return;
  }
  const fields = Object.entries(sortFields(value)).filter(([, field]) => field !== undefined);
  for (const [index, [key, field]] of fields.entries()) {
    yield `${index > 0 ? ',' : '{'}${JSON.stringify(key)}:`;
    if (!Array.isArray(field)) yield fingerprintOf(field);
    else {
      yield '[';
      for (const [place, item] of field.entries()) yield `${place > 0 ? ',' : ''}${fingerprintOf(item)}`;
      yield ']';
    }
  }
  yield '}';
}

async function digestList(list: readonly unknown[], sharer: string): Promise<string> {
  const hash = createHash('sha256');
  // One line of JSON per item, so that different lists never produce the same input.
  await mapInSlices(list, (item) => void hash.update(`${fingerprintOf(item)}\n`), sharedThird(sharer));
  return hash.digest('hex');
}
