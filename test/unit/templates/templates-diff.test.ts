import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diffContent } from '../../../src/domains/templates/diff-content.ts';
import { diffText } from '../../../src/domains/templates/diff-text.ts';

/** Applies a unified diff, which is what a diff is for. */
function patch(from: string, diff: string): string {
  const old = from.split('\n');
  const result: string[] = [];
  let at = 0;
  for (const line of diff.split('\n')) {
    const header = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/.exec(line);
    if (header) {
      const begin = Number(header[1]) - (header[2] === '0' ? 0 : 1);
      result.push(...old.slice(at, begin));
      at = begin;
    } else if (line.startsWith('+')) {
      result.push(line.slice(1));
    } else {
      expect(old[at]).toBe(line.slice(1));
      if (line.startsWith(' ')) result.push(line.slice(1));
      at++;
    }
  }
  return [...result, ...old.slice(at)].join('\n');
}

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', '', '@@', '+x'), { maxLength: 40 })
  .map((lines) => lines.join('\n'));

test('a unified diff of any two texts, applied to the first, gives the second', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      const diff = diffText(from, to);
      expect(diff === '' ? from : patch(from, diff)).toBe(to);
    }),
    { numRuns: 500 },
  );
});

test('a changed line is shown with three lines around it', () => {
  const from = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
  const to = from.with(5, 'changed');
  expect(diffText(from.join('\n'), to.join('\n'))).toBe(
    '@@ -3,7 +3,7 @@\n line 3\n line 4\n line 5\n-line 6\n+changed\n line 7\n line 8\n line 9',
  );
});

test('the largest texts that have nothing in common are compared in far less time than their thread has', () => {
  const from = Array.from({ length: 131_072 }, () => 'a').join('\n');
  const to = Array.from({ length: 131_072 }, () => 'b').join('\n');
  // The best of several: other processes of a machine that is busy hold this one up too.
  const busyMs = Array.from({ length: 5 }, () => {
    const startedAtMs = performance.now();
    diffText(from, to);
    return performance.now() - startedAtMs;
  });
  expect(Math.min(...busyMs)).toBeLessThan(500);
  expect(diffText(from, to).split('\n')).toHaveLength(262_145);
});

test('contents are compared field by field and message by message', () => {
  const from = {
    messages: [{ role: 'system', content: 'Be brief.' }, { placeholder: 'history' }],
    config: { model: 'gpt-4o', params: { temperature: 0.2 } },
    input_schema: null,
  };
  const to = {
    messages: [{ role: 'system', content: 'Be kind.' }, { placeholder: 'history' }, { role: 'user', content: 'Hi' }],
    config: { model: 'gpt-4o', params: { temperature: 0.4, top_p: 1 } },
    input_schema: null,
  };
  const { changes, text } = diffContent(from, to);
  expect(changes).toEqual([
    { field: 'messages[0].content', from: 'Be brief.', to: 'Be kind.' },
    { field: 'messages[2]', from: null, to: { role: 'user', content: 'Hi' } },
    { field: 'config.params.temperature', from: 0.2, to: 0.4 },
    { field: 'config.params.top_p', from: null, to: 1 },
  ]);
  expect(text).toContain('-Be brief.\n+Be kind.');
  expect(diffContent(from, structuredClone(from))).toEqual({ changes: [], text: '' });
});
