/**
 * Prefixes by which well-known services mark their keys. Every pattern runs in linear time: it has no
 * repetition within a repetition, and an unbounded one either matches or ends before the next place
 * where a match can begin.
 */
const patterns: readonly [string, RegExp][] = [
  ['an OpenAI or Anthropic key', /\bsk-[A-Za-z0-9_-]{20,}/],
  ['a key of this service', /\bpl_[A-Za-z0-9]{8,12}_[A-Za-z0-9_-]{43}/],
  ['an AWS access key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/],
  ['a GitHub token', /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})/],
  ['a Google API key', /\bAIza[A-Za-z0-9_-]{35}/],
  ['a Slack token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/],
  ['a Stripe key', /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/],
  ['a Hugging Face token', /\bhf_[A-Za-z0-9]{30,}/],
  ['a GitLab token', /\bglpat-[A-Za-z0-9_-]{20,}/],
  ['a webhook secret', /\bwhsec_[A-Za-z0-9+/=]{24,}/],
  ['a JSON web token', /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/],
  ['a password in an address', /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s/:@{}]{1,64}:[^\s/@{}]{3,128}@/i],
  ['a private key', /-----BEGIN (?:[A-Z]{2,10} )?PRIVATE KEY-----/],
];

/** Matches reported of one pattern in one text. */
const foundMax = 20;

/**
 * Finds literals that look like secrets and returns their kind and offsets. The secret itself is
 * never repeated.
 */
export function findSecrets(source: string): { what: string; begin: number; end: number }[] {
  return patterns.flatMap(([what, pattern]) => {
    const matches = source.matchAll(new RegExp(pattern, `g${pattern.flags}`));
    return Array.from({ length: foundMax }, () => matches.next().value).flatMap((match) =>
      match === undefined ? [] : [{ what, begin: match.index, end: match.index + match[0].length }],
    );
  });
}
