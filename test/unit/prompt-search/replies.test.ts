import { describe, expect, test } from 'vitest';
import { readProposal } from '../../../src/domains/prompt-search/search/read-proposal.ts';

describe('a proposal', () => {
  test.each([
    ['JSON', '{"hypothesis":"h","template":"t {{a}}"}'],
    ['JSON in a fence', 'Sure:\n```json\n{"hypothesis":"h","template":"t {{a}}"}\n```\nDone.'],
    ['JSON within text', 'Answer: {"hypothesis":"h","template":"t {{a}}"} end'],
    ['JSON in a fence after braces', 'I keep {{a}}.\n```json\n{"hypothesis":"h","template":"t {{a}}"}\n```'],
    ['a fenced template', 'h\n\n```\nt {{a}}\n```\n'],
    ['a template in a longer fence', 'h\n````text\nt {{a}}\n````'],
  ])('is read from %s', (_, reply) => {
    expect(readProposal(reply)).toEqual({ hypothesis: 'h', template: 't {{a}}' });
  });

  test('keeps fences within its template', () => {
    expect(readProposal('````\na\n```\nb\n```\n````')?.template).toBe('a\n```\nb\n```');
  });

  test.each([
    ['a refusal', 'I cannot help with that.'],
    ['JSON that is cut off', '{"hypothesis":"h","template":"t'],
    ['an empty template', '{"template":"  "}'],
    ['JSON without a template', '```json\n{"prompt":"x"}\n```'],
    ['a fence without an end', '```\nabc'],
    ['nothing', ''],
  ])('is not read from %s', (_, reply) => {
    expect(readProposal(reply)).toBeUndefined();
  });

  test.each([`\`\`\`${'\n'.repeat(50_000)}x`, '{'.repeat(50_000), '```\n'.repeat(12_500), '`'.repeat(50_000)])(
    'is looked for in linear time',
    (reply) => {
      const startMs = performance.now();
      readProposal(reply);
      expect(performance.now() - startMs).toBeLessThan(1_000);
    },
  );
});
