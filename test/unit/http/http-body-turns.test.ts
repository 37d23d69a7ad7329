import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
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

test('of bodies of 25 to 256 KiB that are there at the same time, a sharer has one parsed in a turn of the event loop', async () => {
  const text = `{"a":"${'a'.repeat(100_000)}"}`;
  const inOneTurn: number[] = [];
  let parsed = 0;
  const parse = vi.spyOn(JSON, 'parse').mockImplementation(() => {
    if (parsed++ === 0) {
      setImmediate(() => {
        inOneTurn.push(parsed);
        parsed = 0;
      });
    }
    return {};
  });
  onTestFinished(() => parse.mockRestore());
  await Promise.all(Array.from({ length: 20 }, () => read(text)));
  await new Promise(setImmediate);
  // The next one is parsed before the immediate that counts.
  expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(2);
  expect(inOneTurn.reduce((sum, count) => sum + count, 0)).toBe(20);
});
