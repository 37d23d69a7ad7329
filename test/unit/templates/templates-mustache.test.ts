import { expect, test } from 'vitest';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { problemsOf, renderSource } from '../../support/templates.ts';

test('every fault of a template is reported, each at its opening tag in UTF-16 units', async () => {
  const source = '😀 {{a b}}\n{{#open}}\n  {{/other}}{{> ?}}\r\n{{}} {{x | upcase}} {{unclosed';
  const problems = await problemsOf(() => parseMustache(source));
  expect(problems.map(({ code, line, column, length }) => [code, line, column, length])).toEqual([
    ['invalid_name', 1, 4, 7],
    ['unclosed_section', 2, 1, 9],
    ['mismatched_close', 3, 3, 10],
    ['invalid_part', 3, 13, 7],
    ['empty_tag', 4, 1, 4],
    ['invalid_name', 4, 6, 14],
    ['unclosed_tag', 4, 21, 2],
  ]);
});

test('a misspelt end of a section suggests the right one and is the only problem', async () => {
  const problems = await problemsOf(() => parseMustache('{{#items}}x{{/itmes}}'));
  expect(problems).toMatchObject([{ code: 'mismatched_close', column: 12, suggestion: '{{/items}}' }]);
});

test('an outer end closes what was left open within it, which alone is reported', async () => {
  const problems = await problemsOf(() => parseMustache('{{#a}}{{#b}}{{/a}}'));
  expect(problems).toMatchObject([{ code: 'unclosed_section', column: 7, suggestion: '{{/b}}' }]);
});

test.each([
  ['constructor', ''],
  ['__proto__', ''],
  ['toString', ''],
  ['text.length', ''],
  ['list.length', ''],
  ['list.0', 'first'],
  ['list.constructor', ''],
  ['object.hasOwnProperty', ''],
  ['object.own', 'yes'],
])('the name %s reaches own properties only', (name, expected) => {
  const variables = { text: 'abc', list: ['first'], object: { own: 'yes' } };
  expect(renderSource(`{{${name}}}{{#${name}}}{{/${name}}}`, variables).text).toBe(expected);
});

test('variables that are called as prototype members are inserted as any others', () => {
  const variables = JSON.parse('{"__proto__": "own", "constructor": 1, "toString": {"a": 2}}');
  expect(renderSource('{{__proto__}} {{constructor}} {{toString.a}}', variables).text).toBe('own 1 2');
});

test('objects and lists are inserted as JSON, numbers and booleans as text', () => {
  const variables = { o: { a: [1, 'x'] }, l: [true, null], n: 1e21, b: false };
  expect(renderSource('{{o}} {{l}} {{n}} {{b}}', variables).text).toBe('{"a":[1,"x"]} [true,null] 1e+21 false');
});

test('what is missing is nothing, its tag or a fault; null is missing too', () => {
  const source = 'a {{x}} {{{ y.z }}} {{&n}}{{#on}} {{x2}}{{/on}}';
  const variables = { y: {}, n: null, on: true };
  expect(renderSource(source, variables)).toEqual({
    text: 'a   ' + ' ',
    used: ['y', 'n', 'on'].filter((name) => name !== 'y'),
    missing: ['x', 'y.z', 'n', 'x2'],
    needed: ['x', 'y.z', 'n'],
  });
  expect(renderSource(source, variables, { onMissing: 'keep' }).text).toBe('a {{x}} {{{ y.z }}} {{&n}} {{x2}}');
});

test('a part sees its arguments before the outer variables, whatever their types', () => {
  const parts = { 'sig@3': '{{tone}}/{{who}}/{{n}}/{{#flag}}on{{/flag}}/{{none}}/{{outer}}' };
  const source = `{{> sig@3 tone="a \\"b\\" }}" who=user.name n=-1.5 flag=true none=null}}`;
  const variables = { user: { name: 'Ada' }, tone: 'hidden', outer: 'seen' };
  expect(renderSource(source, variables, { parts }).text).toBe('a "b" }}/Ada/-1.5/on//seen');
});

test('an argument whose variable is absent hides the outer one, and is missing by the name the caller knows', () => {
  const parts = { p: '<{{who}} {{who.last}}>' };
  const { text, needed } = renderSource('{{> p who=user.nick}}', { who: 'outer', user: {} }, { parts });
  expect(text).toBe('< >');
  expect(needed).toEqual(['user.nick', 'user.nick.last']);
});

test('a part without arguments within a list sees the item as the implicit iterator', () => {
  const parts = { item: '({{.}}{{s}})', named: '[{{.}}{{s}}]' };
  const variables = { list: [1, 2], s: '!' };
  const source = '{{#list}}{{> item}}{{> named s="?"}}{{/list}}';
  expect(renderSource(source, variables, { parts }).text).toBe('(1!)[1?](2!)[2?]');
});

test.each([
  ['{{> p a=1 a=2}}', /twice/],
  ['{{> p a="x}}', /name="text"/],
  ['{{> p a.b=1}}', /must not contain a dot/],
  ['{{> p a=1x}}', /neither a number nor a name/],
  ['{{> p a}}', /name="text"/],
  ['{{> p@}}', /must contain slug/],
  ['{{> ../secrets}}', /must contain slug/],
])('the part tag %s is refused with the reason', async (source, reason) => {
  expect(await problemsOf(() => parseMustache(source))).toMatchObject([{ code: 'invalid_part', message: reason }]);
});

test('a part that is not there fails a strict render and stays or vanishes in the others', () => {
  expect(() => renderSource('{{> p}}', {}, { onMissing: 'error' })).toThrow(/part "p" does not exist/);
  expect(renderSource('<{{> p}}>', {}, { onMissing: 'keep' }).text).toBe('<{{> p}}>');
});

test('indentation of nested parts adds up, leaves empty lines empty and inserted lines alone', () => {
  const parts = { outer: 'a\n\n  {{> inner}}\n{{^no}}\nb\n{{/no}}\n', inner: '{{v}}\n{{#on}}c{{/on}}\n' };
  expect(renderSource('  {{> outer}}\nend', { v: '1\n2', on: true }, { parts }).text).toBe(
    '  a\n\n    1\n2\n    c\n  b\nend',
  );
});
