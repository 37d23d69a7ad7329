import { z } from 'zod';

const tokens = z.number().int().min(0).max(1_000_000_000);

/** What is read of a response. Other members are ignored, and a part of `usage` that is wrong counts as missing. */
const reply = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({
          content: z.union([z.string(), z.array(z.object({ text: z.string().optional() }))]).nullish(),
        }),
      }),
    )
    .min(1),
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
  const choice = result.data?.choices[0];
  if (choice === undefined) return undefined;
  const { content } = choice.message;
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');
  const { prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0 } = result.data?.usage ?? {};
  // No request and no text is without tokens, so such a usage says nothing.
  const isKnown = inputTokens > 0 && (outputTokens > 0 || text === '');
  return {
    ...{ text, finishReason: choice.finish_reason ?? null },
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
