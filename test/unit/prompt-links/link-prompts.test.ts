import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SpanPrompt } from '../../../src/domains/prompt-links/index.ts';
import {
  type LinkableSpan,
  linkPrompts,
  promptCalls,
  promptKey,
} from '../../../src/domains/prompt-links/link-prompts.ts';

function prompt(name: string, version = 1, given: Partial<SpanPrompt> = {}): SpanPrompt {
  return { id: '', name, version, rawVersion: String(version), source: 'self', key: '', ...given };
}

function span(
  spanId: string,
  parentSpanId: string,
  kind: string,
  own: SpanPrompt | null,
  responseId = '',
): LinkableSpan {
  return { spanId, parentSpanId, kind, prompt: own, responseId, startUnixNano: BigInt(spanId.codePointAt(0) ?? 0) };
}

const calls = (spans: readonly LinkableSpan[]) =>
  [...promptCalls(spans)].map(([spanId, { name, version }]) => `${spanId} ${name}@${version}`).sort();
const link = (spans: readonly LinkableSpan[], spanId: string) => linkPrompts(spans).get(spanId);

describe('a model call', () => {
  test('without a prompt takes that of the nearest span above', () => {
    const spans = [
      span('root', '', 'chain', prompt('far')),
      span('agent', 'root', 'agent', prompt('near', 4)),
      span('step', 'agent', 'chain', null),
      span('call', 'step', 'llm', null),
    ];
    expect(link(spans, 'call')).toEqual(prompt('near', 4, { source: 'inherited' }));
  });

  test('with a prompt keeps it', () => {
    const spans = [span('root', '', 'agent', prompt('outer')), span('call', 'root', 'llm', prompt('own'))];
    expect(link(spans, 'call')).toEqual(prompt('own'));
  });

  test('takes nothing from below, from beside, or from a parent that has not arrived', () => {
    const spans = [
      span('call', 'missing', 'llm', null),
      span('below', 'call', 'tool', prompt('x')),
      span('beside', 'missing', 'chain', prompt('x')),
    ];
    expect(link(spans, 'call')).toBeUndefined();
  });

  test('with a text that no prompt is known for takes a prompt from above, else hands the text down', () => {
    const text = prompt('', 3, { key: 'sha256:00', source: 'template_match' });
    const alone = [span('agent', '', 'agent', text), span('call', 'agent', 'llm', null)];
    expect(link(alone, 'call')).toMatchObject({ key: 'sha256:00', source: 'inherited' });
    const below = [span('agent', '', 'agent', prompt('known')), span('call', 'agent', 'llm', text)];
    expect(link(below, 'call')).toEqual(prompt('known', 1, { source: 'inherited' }));
    const found = [span('agent', '', 'agent', prompt('known')), span('call', 'agent', 'llm', { ...text, id: 'prm_1' })];
    expect(link(found, 'call')).toMatchObject({ id: 'prm_1', source: 'template_match' });
  });
});

test('other spans inherit nothing', () => {
  const spans = [span('root', '', 'chain', prompt('p')), span('tool', 'root', 'tool', null)];
  expect([...linkPrompts(spans).keys()]).toEqual(['root']);
});

describe('uses', () => {
  test('of a prompt on agent, step and call are one (AI SDK 7)', () => {
    const spans = [
      span('agent', '', 'agent', prompt('p')),
      span('step', 'agent', 'chain', prompt('p')),
      span('call', 'step', 'llm', prompt('p')),
    ];
    expect(calls(spans)).toEqual(['call p@1']);
  });

  test('are as many as there are calls below, each of the prompt nearest to it', () => {
    const spans = [
      span('agent', '', 'agent', prompt('p')),
      span('a', 'agent', 'llm', null),
      span('b', 'agent', 'llm', prompt('p', 2)),
      span('c', 'agent', 'llm', null),
    ];
    expect(calls(spans)).toEqual(['a p@1', 'b p@2', 'c p@1']);
  });

  test('of a prompt whose calls all name another are none', () => {
    const spans = [span('agent', '', 'agent', prompt('outer')), span('call', 'agent', 'llm', prompt('inner'))];
    expect(calls(spans)).toEqual(['call inner@1']);
  });

  test('without any model call are the spans that name the prompt, the innermost of those inside each other', () => {
    const spans = [
      span('agent', '', 'agent', prompt('p')),
      span('first', 'agent', 'chain', prompt('p')),
      span('second', 'agent', 'chain', prompt('p')),
      span('other', 'second', 'tool', prompt('q')),
    ];
    expect(calls(spans)).toEqual(['first p@1', 'other q@1', 'second p@1']);
  });

  test('count a span that names a prompt beside a model call that is not below it', () => {
    const spans = [
      span('root', '', 'chain', null),
      span('linked', 'root', 'tool', prompt('p')),
      span('call', 'root', 'llm', null),
    ];
    expect(calls(spans)).toEqual(['linked p@1']);
  });

  test('of nested calls with one response id are one, with different ones each its own', () => {
    const nested = (inner: string) => [
      span('outer', '', 'llm', prompt('p'), 'r'),
      span('between', 'outer', 'chain', null),
      span('inner', 'between', 'llm', null, inner),
    ];
    expect(calls(nested('r'))).toEqual(['inner p@1']);
    expect(calls(nested('s'))).toEqual(['inner p@1', 'outer p@1']);
  });

  test('of nested calls with one response id are of the one that reports usage, with the prompt of either', () => {
    const usage = { inputTokens: 1 };
    const outer = { ...span('a', '', 'llm', null, 'r'), usage };
    const inner = span('b', 'a', 'llm', prompt('p', 2), 'r');
    expect(calls([outer, inner])).toEqual(['a p@2']);
    expect(
      calls([
        { ...outer, prompt: prompt('own') },
        { ...inner, prompt: null },
      ]),
    ).toEqual(['a own@1']);
    expect(calls([outer, inner, { ...span('c', 'b', 'llm', null, 'r'), usage }])).toEqual(['c p@2']);
  });

  test('of sibling calls with one response id are two', () => {
    const spans = [
      span('root', '', 'chain', prompt('p')),
      span('a', 'root', 'llm', null, 'r'),
      span('b', 'root', 'llm', null, 'r'),
    ];
    expect(calls(spans)).toEqual(['a p@1', 'b p@1']);
  });
});

describe('a trace of 10,000 spans', () => {
  test('in a chain or a fan is linked, without a deep stack', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => index.toString(16).padStart(16, '0'));
    const chain = ids.map((id, index) =>
      index === 0 ? span(id, '', 'agent', prompt('p')) : span(id, ids[index - 1] ?? '', 'llm', null),
    );
    expect(promptCalls(chain).size).toBe(9_999);
    const fan = chain.map((each, index) => (index === 0 ? each : { ...each, parentSpanId: ids[0] ?? '' }));
    expect(linkPrompts(fan).size).toBe(10_000);
  });
});

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

/** Any spans of one trace, orphans and cycles among them. */
const anySpans = fc.uniqueArray(
  fc
    .record({
      spanId: fc.constantFrom(...ids),
      parentSpanId: fc.constantFrom('', 'missing', ...ids),
      kind: fc.constantFrom('llm', 'llm', 'agent', 'chain'),
      responseId: fc.constantFrom('', '', 'r'),
      startUnixNano: fc.bigInt({ min: 0n, max: 3n }),
      own: fc.option(fc.constantFrom(prompt('p'), prompt('q'), prompt('', 1, { key: 'sha256:00' }))),
    })
    .map(({ own, ...given }): LinkableSpan => ({ ...given, prompt: own })),
  { selector: ({ spanId }) => spanId, minLength: 1 },
);

/** The spans above, nearest first, once round a cycle. */
function above(spans: readonly LinkableSpan[], of: LinkableSpan): LinkableSpan[] {
  const chain: LinkableSpan[] = [];
  let at = spans.find(({ spanId }) => spanId === of.parentSpanId);
  while (at !== undefined && at !== of && !chain.includes(at)) {
    chain.push(at);
    const parent: string = at.parentSpanId;
    at = spans.find(({ spanId }) => spanId === parent);
  }
  return chain;
}

const isAcyclic = (spans: readonly LinkableSpan[]) =>
  spans.every((each) => !above(spans, each).some(({ parentSpanId }) => parentSpanId === each.spanId)) &&
  spans.every(({ spanId, parentSpanId }) => spanId !== parentSpanId);

describe('any trace', () => {
  test('is linked and counted alike in whatever order its spans are given', () => {
    const shuffled = anySpans.chain((spans) =>
      fc.tuple(fc.constant(spans), fc.shuffledSubarray(spans, { minLength: spans.length })),
    );
    fc.assert(
      fc.property(shuffled, ([spans, others]) => {
        expect(linkPrompts(others)).toEqual(linkPrompts(spans));
        expect(promptCalls(others)).toEqual(promptCalls(spans));
      }),
    );
  });

  test('without a cycle counts nothing twice and leaves no prompt that is used out', () => {
    fc.assert(
      fc.property(anySpans.filter(isAcyclic), (spans) => {
        const links = linkPrompts(spans);
        const counted = promptCalls(spans);
        for (const each of spans) {
          const upper = above(spans, each);
          const mine = counted.get(each.spanId);
          // What counts is linked, and no span above it that is no model call counts the same use.
          if (mine !== undefined) {
            expect(links.get(each.spanId)).toEqual(mine);
            const rivals = upper.filter(({ spanId, kind }) => counted.has(spanId) && kind !== 'llm');
            expect(
              each.kind === 'llm' ? rivals : rivals.filter((one) => sameUse(counted.get(one.spanId), mine)),
            ).toEqual([]);
          }
          // A model call with a prompt that does not count has one with its response id below that does.
          if (each.kind === 'llm' && links.has(each.spanId) && mine === undefined) {
            const inner = spans.filter((one) => one.kind === 'llm' && above(spans, one).includes(each));
            expect(inner.some(({ spanId, responseId }) => responseId === each.responseId && counted.has(spanId))).toBe(
              true,
            );
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test('gives a model call the prompt that a walk upwards finds', () => {
    fc.assert(
      fc.property(anySpans.filter(isAcyclic), (spans) => {
        const links = linkPrompts(spans);
        for (const each of spans.filter(({ kind, prompt: own }) => kind === 'llm' && own === null)) {
          const found = above(spans, each).flatMap(({ prompt: one }) => one ?? []);
          const expected = found.find(({ name }) => name !== '') ?? found.at(0);
          expect(links.get(each.spanId)).toEqual(expected && { ...expected, source: 'inherited' });
        }
      }),
      { numRuns: 500 },
    );
  });
});

function sameUse(a: SpanPrompt | undefined, b: SpanPrompt): boolean {
  return a !== undefined && promptKey(a) === promptKey(b);
}
