import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertList } from '../../../src/http/convert-list.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { countTurns } from '../../support/count-turns.ts';

const convert = async (body: unknown) => {
  const result = await convertList({ status: 200, etag: '1', body }, oneTurn);
  if (!('content' in result)) throw new Error('It was not converted');
  return result;
};

describe('a list', () => {
  it.each(['data', 'series'])('that is the field %s of a body becomes the JSON of this body', async (field) => {
    const others = () => fc.dictionary(fc.string(), fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(others(), fc.array(fc.jsonValue()), others(), async (before, list, after) => {
        const { data: _, series: __, ...some } = { ...before, ...after };
        const body = { ...before, data: undefined, [field]: list, ...some };
        const { content, ...result } = await convert(body);
        expect(result).toEqual({ status: 200, etag: '1', contentType: 'application/json' });
        expect(String(content)).toBe(JSON.stringify(body));
      }),
    );
  });

  it('of many bytes becomes bytes of the same JSON', async () => {
    const data = Array.from({ length: 20 }, (_, index) => ({ index, text: '文"\n'.repeat(10_000) }));
    const body = { data, page: { next_cursor: null } };
    const { content } = await convert(body);
    expect(content).toBeInstanceOf(Uint8Array);
    expect(new TextDecoder().decode(Buffer.from(content))).toBe(JSON.stringify(body));
  });

  it.each(['data', 'series'])('of megabytes takes several turns of the event loop as %s', async (field) => {
    const body = { [field]: Array.from({ length: 200 }, () => '"\n'.repeat(100_000)) };
    const { turns } = await countTurns(() => convert(body));
    expect(turns).toBeGreaterThan(3);
  });
});

it.each([[undefined], [null], [[1]], [{ data: { of: 'no list' } }]])('a body %j is not converted', async (body) => {
  const result = { status: 200, body };
  expect(await convertList(result, oneTurn)).toBe(result);
});
