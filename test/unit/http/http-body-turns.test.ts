import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readJsonBody } from '../../../src/http/body.ts';
import { BodyIntake } from '../../../src/http/body-intake.ts';

const mebibyte = 1024 * 1024;

/** Reads a body, and counts the turns for which its parsing asked. */
async function read(text: string): Promise<{ body: unknown; turns: number }> {
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  const req = Object.assign(Readable.from([Buffer.from(text)]), { headers });
  let turns = 0;
  const inTurn = async (parse: () => Promise<unknown>) => {
    turns++;
    return parse();
  };
  const hold = new BodyIntake().open('a');
  // A body is read from no other members of a request.
  return { body: await readJsonBody(req as unknown as IncomingMessage, mebibyte, { hold, inTurn }), turns };
}

const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index.toString(36)}":1`).join()}}`;
const rows = (count: number) =>
  `{"variables":{"rows":[${Array.from({ length: count }, (_, index) => `{"name":"c ${index}","total":${index}.5}`).join()}]}}`;

test.each([
  ['23,800 different keys', keys(23_800)],
  ['empty lists', `{"variables":{"a":[${'[],'.repeat(85_000)}[]]}}`],
  ['more values than an element of a larger body may have', rows(7_400)],
  ['a list of more elements than a larger body may have', `{"tags":[${'1,'.repeat(125_000)}1]}`],
])('a body of at most 256 KiB with %s is parsed whole, in turn with other large work', async (_name, text) => {
  expect(text.length).toBeLessThanOrEqual(256 * 1024);
  expect(await read(text)).toEqual({ body: JSON.parse(text), turns: 1 });
});

test.each([
  ['of 20 KB with very many values', keys(2_200)],
  ['of 28 KB with rows', rows(900)],
  ['of one text of 256 KB', `{"variables":{"text":"${'a'.repeat(260_000)}"}}`],
  ['whose text has JSON', JSON.stringify({ variables: { text: keys(12_000) } })],
  ['of escaped backslashes before the end of a text', `{"a":"${'\\\\'.repeat(60_000)}","b":"${'[{'.repeat(30_000)}"}`],
])('a body %s is parsed at once', async (_name, text) => {
  expect(text.length).toBeLessThanOrEqual(256 * 1024);
  expect(await read(text)).toEqual({ body: JSON.parse(text), turns: 0 });
});
