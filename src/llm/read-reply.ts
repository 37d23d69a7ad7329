import { z } from 'zod';

const tokens = z.number().int().min(0).max(1_000_000_000);

const partsMax = 1_000;

const choice = z.object({
  finish_reason: z.string().nullish(),
  message: z.object({
    content: z
      .union([
        z.string(),
        // Each fault of a list costs as much as many values, so a list that is too long is not looked at.
        z
          .array(z.unknown())
          .max(partsMax)
          .pipe(z.array(z.object({ text: z.string().optional() }))),
      ])
      .nullish(),
  }),
});

/** What is read of a response. Other members and choices are ignored, and a part of `usage` that is wrong counts as missing. */
const reply = z.object({
  choices: z.tuple([choice]).rest(z.unknown()),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens }).nullish().catch(undefined),
});

export interface Reply {
  text: string;
  finishReason: string | null;
  /** Undefined if the endpoint does not say what it billed. */
  usage: { inputTokens: number; outputTokens: number } | undefined;
}

/** Reads the response of `/chat/completions`. Returns undefined if it is not one. */
export function readReply(body: unknown): Reply | undefined {
  const result = reply.safeParse(body);
  const [first] = result.data?.choices ?? [];
  if (first === undefined) return undefined;
  const { content } = first.message;
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');
  const { prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0 } = result.data?.usage ?? {};
  // No request and no text is without tokens, so such a usage says nothing.
  const isKnown = inputTokens > 0 && (outputTokens > 0 || text === '');
  return {
    ...{ text, finishReason: first.finish_reason ?? null },
    usage: isKnown ? { inputTokens, outputTokens } : undefined,
  };
}

/**
 * Estimates tokens that an endpoint does not report: bytes / 3, which is above the count of the
 * usual tokenizers for text. Whole tokens.
 */
export function estimateTokens(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) / 3);
}
