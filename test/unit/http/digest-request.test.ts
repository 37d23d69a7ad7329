import { describe, expect, test } from 'vitest';
import { digestRequest } from '../../../src/http/digest-request.ts';

const digestOf = (body: unknown) =>
  digestRequest({ params: { project_id: 'p' }, query: { dry: 'true' }, body }, { sharer: 'sharer', bytes: 0 });

describe('the digest of a request', () => {
  const dataset = {
    rows: [{ b: [1, { d: 1, c: '"é\u{1f600}\\\ud83d' }], a: null }, 'x', []],
    ...{ '10': 1, '9': [2], absent: undefined, source: 'inline', none: [] },
  };
  test.each<[string, unknown, string]>([
    ['no fields', {}, 'bd45757d3b629a96253615b95fe16720d0d87aa62359b2fadc8fa959f0828dbc'],
    [
      'no list',
      { name: 'a "quoted" \\ name', ratio: 0.5 },
      'ae8f56b1049f83c2197f7f71f9176d5e6caf92c68daf600a393b20a36507a867',
    ],
    [
      'a list',
      { messages: [{ role: 'user', content: 'é\u{1f600}\n' }], name: 'x' },
      '195c2f1a3345c8ea75a3e26352fd8177a0a55e9c13d40bb9c4675cd1d9cd37fd',
    ],
    ['lists in a field', { name: 'x', dataset }, 'ebd171ad1739a3713eeedde4f96e655e6c574962384079ecbd98d24f7157039c'],
  ])('with %s is that of earlier versions, which may have stored it', async (_what, body, digest) => {
    expect((await digestOf(body)).toString('hex')).toBe(digest);
  });

  test('does not depend on the order of fields', async () => {
    const a = await digestOf({ name: 'x', dataset: { source: 'inline', rows: [{ a: 1, b: 2 }] } });
    const b = await digestOf({ dataset: { rows: [{ b: 2, a: 1 }], source: 'inline' }, name: 'x' });
    expect(a).toEqual(b);
  });

  test.each(['of the body', 'of a field'])('lets other work run while it takes a long list %s', async (place) => {
    const rows = Array.from({ length: 5_000 }, (_, n) => ({ inputs: { question: `${n} `.padEnd(900, 'why ') } }));
    let [isTaken, turns] = [false, 0];
    const digesting = digestOf(place === 'of the body' ? { rows } : { dataset: { rows } }).then(() => {
      isTaken = true;
    });
    for (; !isTaken; turns++) await new Promise(setImmediate);
    await digesting;
    expect(turns).toBeGreaterThan(2);
  });
});
