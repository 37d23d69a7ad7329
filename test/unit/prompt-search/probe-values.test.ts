import { expect, test } from 'vitest';
import type { SearchPorts } from '../../../src/domains/prompt-search/search/ports.ts';
import { findHidden, probeValues } from '../../../src/domains/prompt-search/search/probe-values.ts';
import { countTurns } from '../../support/count-turns.ts';

const text = (template: string) => ({ type: 'text', template }) as const;

test('many values are looked for in a long text while other work runs', async () => {
  const words = Array.from({ length: 500 }, (_, index) => `word ${index}`);
  const numbers = Array.from({ length: 490 }, (_, index) => 1_000_000 + index);
  const filler = '718 100 '.repeat(150_000);
  /** Shows all words but the last, without anything in between, and all numbers but the first. */
  const render: SearchPorts['render'] = async (_content, inputs) => {
    const [own, counts] = [inputs.words as string[], inputs.numbers as number[]];
    return [{ role: 'user', content: `${filler}9${own.slice(0, -1).join('')}${counts.slice(1).join(',')}` }];
  };
  const probed = await countTurns(() => probeValues({ render }, text('any'), { inputs: { words, numbers } }));
  const [probe] = probed.result;
  expect(probed.turns).toBeGreaterThan(5);
  expect([...(probe?.shown.values() ?? [])]).toEqual([
    ...words.slice(0, -1).map((_, index) => `words.${index}`),
    ...numbers.slice(1).map((_, index) => `numbers.${index + 1}`),
  ]);

  const same = await countTurns(() => findHidden({ render }, text('any'), probed.result));
  expect(same.result).toBeUndefined();
  expect(same.turns).toBeGreaterThan(5);
  const without: SearchPorts['render'] = async (_content, inputs) => [
    { role: 'user', content: `${filler}${(inputs.words as string[]).join('')}${numbers.slice(0, -1).join(',')}` },
  ];
  expect(await findHidden({ render: without }, text('any'), probed.result)).toBe('numbers.489');
});

test('a value within a longer number is shown, and one whose digits are apart is not', async () => {
  const render =
    (shown: (mark: string) => string): SearchPorts['render'] =>
    async (_content, inputs) => [{ role: 'user', content: shown(String(inputs.name)) }];
  const inputs = { name: 'Ada', age: -12.5 };
  const shownBy = async (shown: (mark: string) => string) => {
    const [probe] = await probeValues({ render: render(shown) }, text('any'), { inputs });
    return [...(probe?.shown.values() ?? [])];
  };
  expect(await shownBy((mark) => `77${mark}77 and -12.57`)).toEqual(['name', 'age']);
  expect(await shownBy((mark) => `${mark.slice(0, 4)} ${mark.slice(4)} and 12.5`)).toEqual([]);
  expect(await shownBy((mark) => `${mark.slice(0, 4)}${mark}-1-12.5`)).toEqual(['name', 'age']);
});

test('values below names of a million characters take little memory', async () => {
  const [name, count] = ['n'.repeat(1_000_000), 400];
  const words = Array.from({ length: count }, (_, index) => `word ${index}`);
  const render: SearchPorts['render'] = async (_content, inputs) => [
    { role: 'user', content: ((inputs.a as Record<string, string[]>)[name] ?? []).join(' ') },
  ];
  const beforeBytes = process.memoryUsage().heapUsed;
  const [probe] = await probeValues({ render }, text('any'), { inputs: { a: { [name]: words } } });
  expect(process.memoryUsage().heapUsed - beforeBytes).toBeLessThan(100_000_000);
  expect(probe?.shown.size).toBe(count);
});
