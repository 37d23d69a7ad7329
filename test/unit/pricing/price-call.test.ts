import { calcPrice, findProvider } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PricedCall, priceCall } from '../../../src/domains/pricing/price-call.ts';
import { noOverrides } from '../../../src/domains/pricing/price-overrides.ts';
import { PriceTable } from '../../../src/domains/pricing/price-table.ts';
import type { TokenUsage } from '../../../src/domains/spans/index.ts';
import { tokens } from '../../support/priced-usage.ts';

const table = new PriceTable();
const mid2026 = Date.UTC(2026, 5, 15, 12);

function price(given: Partial<PricedCall> & { startMs?: number }, budget = { left: 256 }) {
  const { startMs = mid2026, ...call } = given;
  return priceCall(
    { table, overrides: noOverrides, budget },
    {
      provider: '',
      model: '',
      requestModel: '',
      usage: tokens({ inputTokens: 1_000, outputTokens: 100 }),
      startUnixNano: BigInt(startMs) * 1_000_000n + 999_999n,
      ...call,
    },
  );
}

const costOf = (...args: Parameters<typeof price>) => price(...args)?.costNanoUsd ?? null;

describe('the price of a call', () => {
  test('is that of its parts, in whole nano-dollars', () => {
    // claude-sonnet-4-5: 3 in, 15 out, 0.3 read and 3.75 written, per million.
    const usage = tokens({ inputTokens: 1_000, cacheReadTokens: 600, cacheWriteTokens: 300, outputTokens: 50 });
    expect(price({ provider: 'anthropic', model: 'claude-sonnet-4-5', usage })).toEqual({
      costNanoUsd: 100n * 3_000n + 600n * 300n + 300n * 3_750n + 50n * 15_000n,
      priceVersion: table.version,
    });
  });

  test('names the table and its version', () => {
    expect(table.version).toMatch(/^genai-prices@\d+\.\d+\.\d+$/);
  });

  test('of reasoning is its own where there is one, and within the output', () => {
    const sonar = { provider: 'perplexity', model: 'sonar-deep-research' };
    const plain = costOf({ ...sonar, usage: tokens({ outputTokens: 1_000_000 }) });
    const reasoned = costOf({ ...sonar, usage: tokens({ outputTokens: 1_000_000, reasoningTokens: 1_000_000 }) });
    expect([plain, reasoned]).toEqual([8_000_000_000n, 3_000_000_000n]);
  });

  test('of all tokens rises where the input is longer than a tier', () => {
    const gemini = { provider: 'gcp.gemini', model: 'gemini-2.5-pro' };
    expect(costOf({ ...gemini, usage: tokens({ inputTokens: 200_000 }) })).toBe(250_000_000n);
    expect(costOf({ ...gemini, usage: tokens({ inputTokens: 200_001 }) })).toBe(500_002_500n);
    expect(costOf({ ...gemini, usage: tokens({ inputTokens: 200_001, outputTokens: 1_000 }) })).toBe(515_002_500n);
  });

  test('is that of the day of its start, to the millisecond', () => {
    const o3 = { provider: 'openai', model: 'o3', usage: tokens({ inputTokens: 1_000_000 }) };
    const change = Date.UTC(2025, 5, 10);
    expect([costOf({ ...o3, startMs: change - 1 }), costOf({ ...o3, startMs: change })]).toEqual([
      10_000_000_000n,
      2_000_000_000n,
    ]);
  });

  test('of a start of 0, which is no time, is the first there was', () => {
    const o3 = { provider: 'openai', model: 'o3', usage: tokens({ inputTokens: 1_000_000 }) };
    expect(costOf({ ...o3, startUnixNano: 0n })).toBe(10_000_000_000n);
  });

  test('follows the time of day', () => {
    const chat = { provider: 'deepseek', model: 'deepseek-chat', usage: tokens({ inputTokens: 1_000_000 }) };
    const at = (hours: number, minutes: number) => costOf({ ...chat, startMs: Date.UTC(2025, 7, 1, hours, minutes) });
    expect([at(0, 29), at(16, 30)]).toEqual([at(20, 0), at(20, 0)]);
    expect([at(0, 30), at(16, 29)]).toEqual([at(12, 0), at(12, 0)]);
    expect(at(12, 0)).not.toBe(at(20, 0));
  });

  test('of parts larger than their whole is that of the whole', () => {
    const usage = tokens({
      inputTokens: 100,
      cacheReadTokens: 900,
      cacheWriteTokens: 50,
      outputTokens: 10,
      reasoningTokens: 99,
    });
    expect(costOf({ provider: 'anthropic', model: 'claude-sonnet-4-5', usage })).toBe(100n * 300n + 10n * 15_000n);
  });

  test('of no tokens at all is nothing', () => {
    expect(costOf({ provider: 'openai', model: 'gpt-4o', usage: tokens({}) })).toBe(0n);
  });
});

describe('no price', () => {
  test.each<[string, Partial<PricedCall>]>([
    ['an unknown model', { provider: 'openai', model: 'nobody-knows-it' }],
    ['no model', { provider: 'openai' }],
    ['a model of one’s own machine, whatever its name', { provider: 'ollama', model: 'deepseek-r1:8b' }],
    ['a model that is sold by the hour', { provider: 'openai', model: 'whisper-1' }],
    [
      'a total that is not split',
      { provider: 'openai', model: 'gpt-4o', usage: { ...tokens({}), totalTokens: 1_000 } },
    ],
    ['a model that this host does not list, though another does', { provider: 'groq', model: 'gpt-4o' }],
    ['a name longer than any', { provider: 'openai', model: `gpt-4o-${'x'.repeat(300)}` }],
    ['an endless name of a provider', { provider: 'x'.repeat(1_000), model: 'gpt-4o' }],
  ])('is known for %s', (_what, call) => {
    expect(price(call)).toBeNull();
  });
});

describe('the model that is priced', () => {
  const gpt4o = costOf({ provider: 'openai', model: 'gpt-4o' });

  test.each<[string, Partial<PricedCall>]>([
    ['found by its name when the provider is unknown', { provider: 'my-gateway', model: 'gpt-4o' }],
    ['found by its name when no provider is given', { model: 'gpt-4o' }],
    ['the one asked for when the answer names none', { provider: 'openai', requestModel: 'gpt-4o' }],
    ['the one asked for when the answer’s is unknown', { provider: 'openai', model: 'alias', requestModel: 'gpt-4o' }],
    ['found in any case', { provider: 'OpenAI', model: 'GPT-4o' }],
    ['found at Azure', { provider: 'azure.ai.openai', model: 'gpt-4o' }],
    ['found behind a gateway', { provider: 'gateway', model: 'openai/gpt-4o' }],
  ])('is %s', (_what, call) => {
    expect(gpt4o).toBe(3_500_000n);
    expect(costOf(call)).toBe(gpt4o);
  });

  test('is found by its name when OpenAI’s client talks to another service', () => {
    const ours = costOf({ provider: 'openai', model: 'deepseek-chat' });
    expect(ours).toBeGreaterThan(0n);
    expect(ours).toBe(costOf({ provider: 'deepseek', model: 'deepseek-chat' }));
  });

  test('is the one that answered, not the one asked for', () => {
    expect(costOf({ provider: 'openai', model: 'gpt-4o', requestModel: 'gpt-4o-mini' })).toBe(gpt4o);
  });

  test.each(['gcp.gen_ai', 'gcp.vertex_ai', 'gcp.gemini'])('is found under the name %s', (provider) => {
    expect(costOf({ provider, model: 'gemini-2.5-flash' })).toBe(
      costOf({ provider: 'google', model: 'gemini-2.5-flash' }),
    );
  });

  test.each([
    ['aws.bedrock', 'anthropic.claude-3-5-sonnet-20240620-v1:0'],
    ['x_ai', 'grok-4'],
    ['mistral_ai', 'mistral-large-latest'],
  ])('of %s is found', (provider, model) => {
    expect(costOf({ provider, model })).toBeGreaterThan(0n);
  });
});

describe('searching the table', () => {
  test('ends with the budget, and what was found before stays found', () => {
    const budget = { left: 3 };
    price({ provider: 'openai', model: 'gpt-4.1' }, budget);
    for (let index = 0; index < 100; index++) price({ provider: 'openai', model: `unheard-of-${index}` }, budget);
    expect(budget.left).toBe(0);
    expect(price({ provider: 'openai', model: 'gpt-4.1' }, budget)).not.toBeNull();
    expect(price({ provider: 'openai', model: 'gpt-4.1-mini' }, budget)).toBeNull();
    expect(price({ provider: 'openai', model: 'gpt-4.1-mini' })).not.toBeNull();
  });

  test('does not search twice for a model that is not there', () => {
    const budget = { left: 10 };
    for (let index = 0; index < 5; index++) price({ provider: 'openai', model: 'absent twice' }, budget);
    expect(budget.left).toBe(9);
  });
});

/** Every provider that a name leads to, with every model that its list has a literal name for. */
const listed = [
  ...['anthropic', 'aws', 'azure', 'cohere', 'deepseek', 'fireworks', 'google', 'groq', 'mistral', 'openai'],
  ...['openrouter', 'perplexity', 'together', 'x-ai', 'moonshotai', 'cerebras', 'voyageai', 'novita'],
].flatMap((id) =>
  (findProvider({ providerId: id })?.models ?? []).map((model) => ({ providerId: id, model: model.id })),
);

describe('against calcPrice of genai-prices', () => {
  const count = fc.oneof(fc.nat(300_000), fc.nat(10), fc.nat(2 ** 31 - 1));
  const usages = fc
    .record({ inputTokens: count, outputTokens: count, read: fc.nat(100), written: fc.nat(100), reasoned: fc.nat(100) })
    .map(({ inputTokens, outputTokens, read, written, reasoned }): TokenUsage => {
      const cacheReadTokens = Math.floor((inputTokens * read) / 100);
      const cacheWriteTokens = Math.floor(((inputTokens - cacheReadTokens) * written) / 100);
      const reasoningTokens = Math.floor((outputTokens * reasoned) / 100);
      return tokens({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens });
    });
  const starts = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2027, 11, 31) });

  /** What the package says, or null: it counts a model that has no price for tokens as free. */
  function calculated(
    { providerId, model }: (typeof listed)[number],
    usage: TokenUsage,
    startMs: number,
  ): number | null {
    const result = calcPrice(
      {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cache_read_tokens: usage.cacheReadTokens,
        cache_write_tokens: usage.cacheWriteTokens,
        output_reasoning_tokens: usage.reasoningTokens,
      },
      model,
      { providerId, timestamp: new Date(startMs) },
    );
    if (result === null) return null;
    const names = Object.keys(result.model_price);
    const byToken = names.length === 0 || names.includes('input_mtok') || names.includes('output_mtok');
    return byToken ? result.total_price * 1e9 : null;
  }

  test('any model, usage and time costs the same, but for the noise of doubles', () => {
    expect(listed.length).toBeGreaterThan(1_000);
    fc.assert(
      fc.property(fc.constantFrom(...listed), usages, starts, (which, usage, startMs) => {
        const { providerId: provider, model } = which;
        const ours = costOf({ provider, model, usage, startMs });
        const theirs = calculated(which, usage, startMs);
        if (ours === null || theirs === null) expect([ours, theirs]).toEqual([null, null]);
        else expect(Math.abs(Number(ours) - theirs)).toBeLessThanOrEqual(0.5 + theirs * 1e-12);
      }),
      { numRuns: 3_000 },
    );
  });

  test('every listed model is found', () => {
    const usage = tokens({ inputTokens: 1_000_003, cacheReadTokens: 1_001, outputTokens: 70_001 });
    for (const which of listed) {
      const ours = costOf({ provider: which.providerId, model: which.model, usage });
      const theirs = calculated(which, usage, mid2026);
      expect([which, ours === null]).toEqual([which, theirs === null]);
      if (theirs !== null)
        expect(Math.abs(Number(ours) - theirs), which.model).toBeLessThanOrEqual(0.5 + theirs * 1e-12);
    }
  });
});
