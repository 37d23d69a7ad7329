import { expect, test } from 'vitest';
import { expandParts, type ResolvedPart } from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';

/** A store of parts: `slug@version` -> source; a bare slug means the highest version. */
function resolver(sources: Readonly<Record<string, string>>) {
  const stored = new Map(
    Object.entries(sources).map(([key, source]): [string, ResolvedPart] => {
      const [slug = '', version = '1'] = key.split('@');
      return [`${slug}@${version}`, { slug, version: Number(version), template: parseMustache(source) }];
    }),
  );
  return (slug: string, ref: string) =>
    stored.get(ref) ?? [...stored.values()].filter((part) => part.slug === slug && slug === ref).at(-1);
}

test('parts are found through parts, pinned ones and floating ones side by side', () => {
  const resolve = resolver({ 'a@1': 'one', 'a@2': 'two {{> b}}', 'b@1': '{{> a@1}}' });
  const { parts, states, problems } = expandParts([parseMustache('{{> a}}{{> b}}')], resolve);
  expect(problems).toEqual([]);
  expect(states).toEqual([
    { slug: 'a', ref: 'a', status: 'ok', version: 2 },
    { slug: 'b', ref: 'b', status: 'ok', version: 1 },
    { slug: 'a', ref: 'a@1', status: 'ok', version: 1 },
  ]);
  expect(parts.get('a@1')?.source).toBe('one');
});

test('a cycle is reported with its path, at the tag that leads into it', () => {
  const resolve = resolver({ 'a@1': '{{> b}}', 'b@1': '{{> c}}', 'c@1': 'x {{> b}}' });
  const { problems, states } = expandParts([parseMustache('text\n {{> a}}')], resolve);
  expect(problems).toMatchObject([
    { code: 'part_cycle', message: expect.stringContaining('b > c > b'), line: 2, column: 2, length: 7 },
  ]);
  expect(states.find(({ slug }) => slug === 'b')?.status).toBe('cycle');
});

test('the draft of a part closes a cycle through the parts it names', () => {
  const draft: ResolvedPart = { slug: 'a', version: 2, template: parseMustache('{{> b}}') };
  const stored = resolver({ 'b@1': '{{> a}}' });
  const resolve = (slug: string, ref: string) => (ref === 'a' ? draft : stored(slug, ref));
  const { problems } = expandParts([draft.template], resolve, draft);
  expect(problems).toMatchObject([{ code: 'part_cycle', message: expect.stringContaining('a > b > a') }]);
});

test('an unknown part is named with the parts that lead to it', () => {
  const { problems, states } = expandParts([parseMustache('{{> a}}{{> no@3}}')], resolver({ 'a@1': '{{> gone}}' }));
  expect(problems.map(({ code, message, column }) => [code, message, column])).toEqual([
    ['unknown_part', 'The part `gone` in `a` does not exist', 1],
    ['unknown_part', 'The part `no@3` does not exist', 8],
  ]);
  expect(states.map(({ ref, status }) => [ref, status])).toEqual([
    ['a', 'ok'],
    ['gone', 'unknown'],
    ['no@3', 'unknown'],
  ]);
});

test('ten levels of parts are taken and eleven are refused', () => {
  const chain = (levels: number) =>
    Object.fromEntries(
      Array.from({ length: levels }, (_, index) => [`p${index}@1`, index + 1 < levels ? `{{> p${index + 1}}}` : 'end']),
    );
  const root = [parseMustache('{{> p0}}')];
  expect(expandParts(root, resolver(chain(10))).problems).toEqual([]);
  expect(expandParts(root, resolver(chain(11))).problems).toMatchObject([{ code: 'template_limit' }]);
  expect(expandParts(root, resolver(chain(500))).problems).toMatchObject([{ code: 'template_limit' }]);
});

test('parts that each include two others twice are counted at once instead of written out', () => {
  const sources: Record<string, string> = { 'l9@1': 'x', 'r9@1': 'x' };
  for (let level = 0; level < 9; level++) {
    const body = `{{> l${level + 1}}}{{> r${level + 1}}}`.repeat(2);
    Object.assign(sources, { [`l${level}@1`]: body, [`r${level}@1`]: body });
  }
  const startMs = performance.now();
  const { problems } = expandParts([parseMustache('{{> l0}}')], resolver(sources));
  expect(performance.now() - startMs).toBeLessThan(50);
  expect(problems).toMatchObject([{ code: 'template_limit', message: expect.stringContaining('1000 part tags') }]);
});
