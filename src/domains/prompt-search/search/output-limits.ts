/** Parameters that limit the tokens of a response. Some endpoints use the one, some the other. */
export const outputLimits: readonly string[] = ['max_tokens', 'max_completion_tokens'];

/** Returns the most tokens that a response can have, whichever parameter the endpoint uses; undefined without a limit. */
export function outputLimitOf(params: Readonly<Record<string, unknown>>): number | undefined {
  const limits = outputLimits.map((name) => params[name]).filter((limit) => typeof limit === 'number' && limit > 0);
  return limits.length === 0 ? undefined : Math.max(...(limits as number[]));
}
