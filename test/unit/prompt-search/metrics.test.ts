import { describe, expect, test } from 'vitest';
import { checkMetrics } from '../../../src/domains/prompt-search/metrics/check-metrics.ts';
import { combineScores, prepareMetrics } from '../../../src/domains/prompt-search/metrics/combine-scores.ts';
import { inferMetric } from '../../../src/domains/prompt-search/metrics/infer-metric.ts';
import type { ScoreInput } from '../../../src/domains/prompt-search/metrics/metric.ts';
import { metricTypeOf } from '../../../src/domains/prompt-search/metrics/metric-types.ts';
import { scoreApart } from '../../../src/domains/prompt-search/metrics/score-apart.ts';
import { oneTurn } from '../../../src/lib/pace.ts';

function scoreOf(type: string, options: object, output: string, expected?: unknown) {
  const metric = metricTypeOf(type).prepare(options);
  if (metric.kind !== 'plain') throw new Error(`${type} asks a judge`);
  return metric.score({ output, expected, inputs: {}, note: undefined });
}

const person = {
  type: 'object',
  required: ['name', 'age'],
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
};

describe('a metric scores an output and says what is wrong', () => {
  test.each<[string, object, string, unknown, number, string]>([
    ['exact_match', {}, ' P2\n', 'P2', 1, ''],
    ['exact_match', {}, 'routine', 'P2', 0, 'Expected "P2" but got "routine".'],
    ['exact_match', { ignore_case: true, collapse_whitespace: true }, 'a  B', 'A b', 1, ''],
    ['exact_match', { trim: false }, 'a ', 'a', 0, 'Expected "a" but got "a ".'],
    [
      'contains',
      { all: ['refund id', 'order'], none: ['sorry'] },
      'Sorry, your order',
      undefined,
      1 / 3,
      'Missing: "refund id". Forbidden present: "sorry".',
    ],
    ['contains', { any: ['yes', 'sure'] }, 'no', undefined, 0, 'Contains none of: "yes", "sure".'],
    ['contains', {}, 'the red one', ['red', 'blue'], 0.5, 'Missing: "blue".'],
    [
      'regex',
      { pattern: '\\d{4}-\\d{2}-\\d{2}', mode: 'full' },
      '3/7/25',
      undefined,
      0,
      'Output does not match /\\d{4}-\\d{2}-\\d{2}/; got "3/7/25".',
    ],
    [
      'regex',
      { pattern: '\\d{4}', mode: 'full' },
      '2025 x',
      undefined,
      0,
      'Output does not match /\\d{4}/; got "2025 x".',
    ],
    ['regex', { pattern: '\\d{4}' }, 'in 2025', undefined, 1, ''],
    ['json_schema', { schema: person }, 'no', undefined, 0, 'Output is not JSON; got "no".'],
    ['json_schema', { schema: person }, '```json\n{"name":"A","age":3}\n```', undefined, 1, ''],
    ['json_schema', { schema: person }, '{"name":"A","age":"3"}', undefined, 0, '/age: must be integer'],
    [
      'json_schema',
      { schema: person, partial: true },
      '{"name":"A"}',
      undefined,
      0.5,
      "/age: must have required property 'age'",
    ],
    [
      'json_equal',
      {},
      '{"total":"12.50","id":1}',
      { total: 12.5, id: 1 },
      0.5,
      'field total: expected 12.5 got "12.50"',
    ],
    [
      'json_equal',
      { field_weights: { total: 3 } },
      '{"id":1}',
      '{"total":12.5,"id":1}',
      0.25,
      'field total: expected 12.5 got nothing',
    ],
    ['json_equal', { ignore_extra: false }, '{"id":1,"x":2}', { id: 1 }, 0.5, 'field x is not expected'],
    [
      'json_equal',
      {},
      '{}',
      { constructor: 1, id: 2 },
      0,
      'field constructor: expected 1 got nothing; field id: expected 2 got nothing',
    ],
    ['json_equal', {}, '{"toString":1}', { toString: 1 }, 1, ''],
    ['json_equal', {}, '{}', '{"__proto__":{}}', 0, 'field __proto__: expected {} got nothing'],
    ['numeric', {}, 'Stage3', 3, 1, ''],
    ['numeric', {}, 'from .5 on 1.5e3', 1500, 1, ''],
    ['numeric', {}, 'So it is 4338', 4331, 0, 'Expected 4331±0, got 4338 (off by 7).'],
    ['numeric', {}, 'First 3, then 1,204.50', '1204.5', 1, ''],
    ['numeric', { abs_tolerance: 1, decay: 10 }, '16', 10, 0.5, 'Expected 10±1, got 16 (off by 6).'],
    ['numeric', { rel_tolerance: 0.1 }, '-95', -100, 1, ''],
    ['numeric', {}, 'none', 3, 0, 'Expected the number 3, got "none".'],
    [
      'similarity',
      {},
      'the red cat',
      'the red dog',
      2 / 3,
      'Expected "the red dog" but got "the red cat" at character 8.',
    ],
    [
      'similarity',
      { method: 'levenshtein' },
      'kitten',
      'sitting',
      1 - 3 / 7,
      'Expected "sitting" but got "kitten" at character 0.',
    ],
  ])('%s %j', (type, options, output, expected, score, feedback) => {
    const found = scoreOf(type, options, output, expected);
    expect(found.score).toBeCloseTo(score, 10);
    expect(found.feedback).toBe(feedback);
  });
});

describe('a judge', () => {
  const judge = (options: object = {}) => {
    const metric = metricTypeOf('llm_judge').prepare({ criteria: 'It is polite.', ...options });
    if (metric.kind !== 'judge') throw new Error('not a judge');
    return metric;
  };

  test.each([
    ['{"score": 4, "reason": "short"}', {}, { score: 0.75, feedback: 'short' }],
    ['Here: {"score": "5", "reason": "all good"} Bye', {}, { score: 1, feedback: '' }],
    ['{"score": 0.5}', { scale: [0, 1] }, { score: 0.5, feedback: '' }],
    ['{"score": 7, "reason": ""}', {}, undefined],
    ['I like it', {}, undefined],
    ['{"score": "very good"}', {}, undefined],
  ])('reads %s', (reply, options, score) => {
    expect(judge(options).read(reply)).toEqual(score);
  });

  test('sees criteria, output and what is expected, and is told that they are data', () => {
    const [message] = judge().ask({ output: 'OUT', expected: 'EXP', inputs: { a: 1 }, note: undefined });
    expect(message?.content).toMatch(/Expected: EXP[\s\S]*Output: OUT[\s\S]*It is polite\.[\s\S]*data/);
  });
});

describe('a value of megabytes that is expected', () => {
  const text = 'x'.repeat(5_000_000);

  test.each<[string, unknown]>([
    ['numeric', text],
    ['json_equal', { total: text }],
    ['json_equal', { [text]: 1 }],
    ['json_equal', text],
    ['exact_match', text],
  ])('%s says its beginning', (type, expected) => {
    const { feedback } = scoreOf(type, {}, '{}', expected);
    expect(feedback).toContain('x'.repeat(290));
    expect(feedback.length).toBeLessThan(400);
  });
});

describe('several metrics', () => {
  const total = (configs: Parameters<typeof prepareMetrics>[0], input: Partial<ScoreInput>) => {
    const { parts } = prepareMetrics(configs);
    const full = { output: '', expected: undefined, inputs: {}, note: undefined, ...input };
    return combineScores(
      parts.flatMap((part) => {
        const { metric } = part;
        if (metric.kind === 'judge') return [];
        return [{ part, score: metric.kind === 'plain' ? metric.score(full) : scoreApart(part.config, full) }];
      }),
    );
  };

  test('are weighed', () => {
    const configs = [
      { type: 'exact_match', weight: 3 },
      { type: 'contains', options: { all: ['b'] } },
    ];
    expect(total(configs, { output: 'a', expected: 'a' })).toEqual({ score: 0.75, feedback: 'Missing: "b".' });
  });

  test('score 0 if a gate fails, and the gate does not count otherwise', () => {
    const configs = [{ type: 'similarity' }, { type: 'regex', gate: true, options: { pattern: '^a' } }];
    expect(total(configs, { output: 'b c', expected: 'b c' }).score).toBe(0);
    expect(total(configs, { output: 'a c', expected: 'a d' }).score).toBe(0.5);
  });

  test('say at most 2,000 characters of an output', () => {
    const any = Array.from({ length: 10 }, (_, index) => `${index}${'y'.repeat(400)}`);
    const { feedback } = total([{ type: 'contains', options: { any } }], {});
    expect(feedback).toMatch(/^Contains none of: "0y+…", /);
    expect(feedback).toHaveLength(2_001);
  });
});

describe('a metric is chosen by what is expected', () => {
  test.each([
    [['{"a":1}', { b: 2 }], 'json_equal'],
    [[3, '4.5'], 'numeric'],
    [['legal', 'sales'], 'exact_match'],
    [['x'.repeat(61), 'short'], 'similarity'],
    [[undefined], 'llm_judge'],
  ])('%j: %s', async (values, type) => {
    const { metric, reason } = await inferMetric(
      values.map((expected) => ({ expected })),
      oneTurn,
    );
    expect(metric.type).toBe(type);
    expect(reason).toContain(type);
  });

  const listOf = (chars: number) => `[${'[],'.repeat(chars / 3)}0]`;

  test('other work runs while a thousand texts are read as JSON', async () => {
    let rests = 0;
    const rest = () => {
      rests++;
      return oneTurn();
    };
    const rows = Array.from({ length: 1_000 }, () => ({ expected: listOf(5_000) }));
    expect((await inferMetric(rows, rest)).metric.type).toBe('json_equal');
    expect(rests).toBeGreaterThan(10);
  });

  test('a text that is longer than any output is not read as JSON', async () => {
    expect((await inferMetric([{ expected: listOf(130_000) }], oneTurn)).metric.type).toBe('json_equal');
    expect((await inferMetric([{ expected: listOf(132_000) }], oneTurn)).metric.type).toBe('similarity');
  });
});

describe('a metric that cannot be used is refused with its path', () => {
  test.each([
    ['regex', { pattern: '(' }, 'metrics[0].options.pattern'],
    ['regex', { pattern: '(a)\\1' }, 'metrics[0].options.pattern'],
    ['json_schema', { schema: { $ref: 'http://127.0.0.1:1/schema.json' } }, 'metrics[0].options.schema'],
    ['json_schema', { schema: { type: 'nonsense' } }, 'metrics[0].options.schema'],
  ])('%s %j', (type, options, path) => {
    expect(checkMetrics([{ type, options }])).toMatchObject([{ path, message: expect.stringMatching(/.{5}/) }]);
  });
});

describe('hostile texts cost little time', () => {
  const size = 50_000;
  const texts = {
    'line ends after a fence': `\`\`\`${'\n'.repeat(size)}x`,
    'opening braces': '{'.repeat(size),
    'nested JSON': '{"a":'.repeat(size / 5),
    fences: '```\n'.repeat(size / 4),
    digits: '1'.repeat(size),
    'digits and commas': '1,111'.repeat(size / 5),
    minuses: '-'.repeat(size),
    'the letter a': `${'a'.repeat(size)}!`,
  };
  const metrics: [string, object][] = [
    ['exact_match', { collapse_whitespace: true }],
    ['contains', {}],
    ['regex', { pattern: '(a+)+$' }],
    ['json_schema', { schema: { type: 'object', patternProperties: { '(a+)+$': true } } }],
    ['json_equal', {}],
    ['numeric', {}],
    ['similarity', {}],
    ['similarity', { method: 'levenshtein' }],
  ];

  test.each(metrics)('%s %j', (type, options) => {
    const spent = Object.entries(texts).map(([name, text]) => {
      const startMs = performance.now();
      scoreOf(type, options, text, { a: 1 });
      scoreOf(type, options, text, text);
      return { name, ms: performance.now() - startMs };
    });
    // The square of 50,000 takes seconds. The bound is far above what a busy machine needs for linear time.
    expect(spent.filter(({ ms }) => ms > 1_000)).toEqual([]);
  });
});
