import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { TemplateThreads, TokenCounter } from '../../../src/domains/templates/index.ts';
import { countIn } from '../../../src/domains/templates/tokens/count-in.ts';
import { cutPieces, pieceCharactersMax } from '../../../src/domains/templates/tokens/cut-pieces.ts';
import { cutWords } from '../../../src/domains/templates/tokens/cut-words.ts';

vi.setConfig({ testTimeout: 60_000 });
const threads = new TemplateThreads();
afterAll(() => threads.close());

const english = 'The quick brown fox, 12 of them; jumped over\nthe lazy dogs (twice!) and went home. '.repeat(800);
const chinese = '提示管理與觀測，讓團隊知道每一次呼叫花了多少。'.repeat(2_500);

describe('a long text in pieces', () => {
  test.each([
    ['English', english],
    ['Chinese', chinese],
  ])('has as many tokens as in one, %s', async (_, text) => {
    const { pieces, exact } = cutPieces(text);
    expect(exact).toBe(true);
    expect(pieces.join('')).toBe(text);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(pieceCharactersMax);
    for (const encoding of ['o200k_base', 'cl100k_base'] as const) {
      const [[whole], counted] = [await countIn(encoding, [text]), await countIn(encoding, pieces)];
      expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(whole?.count);
    }
  });

  test('without a place to cut is not exact, and no character is cut in two', () => {
    const { pieces, exact } = cutPieces('😀'.repeat(20_000));
    expect(exact).toBe(false);
    expect(pieces.every((piece) => !/\p{Surrogate}/u.test(piece))).toBe(true);
  });
});

describe('a word that is longer than any real one', () => {
  test.each([
    ['symbols and marks in turn', '€※'],
    ['blanks of two kinds in turn', '\u2003 '],
    ['slashes and line breaks in turn', '!/\n'],
    ['marks that belong to letters, and others', '!\u0301'],
    ['letters of many bytes', '漢'],
    ['digits', '7'],
  ])('of %s is counted quickly', async (_, unit) => {
    const text = unit.repeat(pieceCharactersMax / unit.length);
    for (const encoding of ['o200k_base', 'cl100k_base'] as const) {
      await countIn(encoding, ['warm']);
      const beganAtMs = performance.now();
      await countIn(encoding, [text]);
      // It took a second and more.
      expect(performance.now() - beganAtMs).toBeLessThan(300);
    }
  });

  test('is cut, and no character is cut in two; other texts are not', () => {
    const texts = fc.string({
      unit: fc.constantFrom('a', 'B', ' ', '\n', '/', '.', '€', '※', '\u2003', '\u0301', '漢', '😀', '7'),
    });
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 300 }), (text, times) => {
        for (const words of [O200K_TOKEN_SPLIT_REGEX, CL100K_TOKEN_SPLIT_REGEX]) {
          const whole = text.repeat(times);
          const longest = Math.max(0, ...Array.from(whole.matchAll(words), ([word]) => word.length));
          const pieces = cutWords(whole, words);
          expect(pieces.join('')).toBe(whole);
          expect(pieces.length > 1).toBe(longest > 128);
          expect(pieces.every((piece) => !/\p{Surrogate}/u.test(piece))).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});

test('while one workspace has large texts counted without end, the small one of another is counted and not estimated', async () => {
  const tokens = new TokenCounter(threads);
  const count = (workspaceId: string, texts: string[], waitMsMax?: number) =>
    tokens.count({ workspaceId, texts, model: 'gpt-4o' }, waitMsMax);
  await count('wsp_b', ['warm'], 10_000);
  let [stopped, rounds] = [false, 0];
  const flood = Array.from({ length: 20 }, async (_, lane) => {
    while (!stopped) {
      await count('wsp_a', [`${lane} ${rounds++} ${english.repeat(4)}`], 2_000);
      // An estimate comes without a turn of the event loop, so the loop would never end on a busy machine.
      await nextTurn();
    }
  });
  // They begin in one tick here, which requests do not.
  await nextTurn();
  const counted: boolean[] = [];
  for (let index = 0; index < 20; index++) {
    // Far less than what lies before it would take in order of arrival; far more than two turns take.
    const { estimated } = await count('wsp_b', [`hello ${index}`], 500);
    counted.push(!estimated);
  }
  stopped = true;
  await Promise.all(flood);
  expect(counted.filter((each) => each).length).toBeGreaterThanOrEqual(19);
});

describe('a chat of very many messages', () => {
  /** Counts every text as one token, and notes which texts it is asked for. */
  function counterOver(asked: string[]): TokenCounter {
    const countTokens = async (_encoding: string, texts: readonly string[]) => {
      asked.push(...texts);
      return texts.map(() => ({ count: 1, exact: true }));
    };
    return new TokenCounter({ countTokens } as unknown as TemplateThreads);
  }
  const count = (counter: TokenCounter, texts: string[]) =>
    counter.count({ workspaceId: 'wsp_a', texts, model: 'gpt-4o' }, 10_000);

  test('is asked for each different text once', async () => {
    const asked: string[] = [];
    const counted = await count(counterOver(asked), Array<string>(10_000).fill('same'));
    expect([counted, asked]).toEqual([{ count: 10_000, model: 'gpt-4o', estimated: false }, ['same']]);
  });

  test('that are all different is estimated without asking', async () => {
    const asked: string[] = [];
    const texts = Array.from({ length: 1_001 }, (_, at) => `text ${at}`);
    expect(await count(counterOver(asked), texts)).toMatchObject({ estimated: true });
    expect(asked).toEqual([]);
    expect(await count(counterOver(asked), texts.slice(1))).toMatchObject({ count: 1_000, estimated: false });
  });
});
