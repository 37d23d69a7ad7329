import type { Lint, TokenCount, TokenCounter, WorkspaceThreads } from '../templates/index.ts';
import type { CompiledPrompt } from './compile-prompt.ts';
import { attempt } from './draft-problems.ts';
import type { Model } from './estimate-cost.ts';
import { type Fillable, fillVariables } from './fill-variables.ts';
import { countRendered, renderCompiled } from './render-prompt.ts';

/** Drafts are validated rarely, so an exact count is worth the wait. */
const countWaitMsMax = 1_000;

export type TryableDraft = Fillable & Pick<CompiledPrompt, 'prompt' | 'expanded'>;

/**
 * Renders a draft with the given variables, and requires all of them. If that fails, renders again
 * and keeps the tags of missing variables. Errors of the render become lints. The token count is
 * exact only when nothing was missing.
 */
export async function tryDraft(
  { threads, tokens }: { threads: WorkspaceThreads; tokens: TokenCounter },
  draft: TryableDraft,
  given: Readonly<Record<string, unknown>> | undefined,
  payer: { workspaceId: string; model: Model | null },
): Promise<{ lints: Lint[]; tokens: TokenCount | undefined }> {
  const placeholders = Object.fromEntries(draft.placeholders.map((name) => [name, []]));
  const strictly = async () => {
    const values = { variables: given ?? {}, placeholders, onMissing: 'error' as const };
    const { variables } = await fillVariables(threads, draft, values);
    return renderCompiled(threads, draft, { ...values, variables });
  };
  const strict = await attempt('variables', strictly);
  if ('value' in strict) {
    const counted = await countRendered(tokens, strict.value, payer, countWaitMsMax);
    return { lints: [], tokens: { ...counted, estimated: counted.estimated || draft.placeholders.length > 0 } };
  }
  if (strict.lints.some(({ code }) => code === 'template_limit')) return { lints: strict.lints, tokens: undefined };
  const keep = { variables: given ?? {}, placeholders, onMissing: 'keep' as const };
  const loose = await attempt('template', () => renderCompiled(threads, draft, keep));
  // Without given variables, missing ones are not faults of the draft. An unknown part is reported
  // by another lint already.
  const ofValues = given === undefined ? [] : strict.lints.filter(({ code }) => code !== 'unknown_part');
  if ('lints' in loose) return { lints: loose.lints, tokens: undefined };
  const counted = await countRendered(tokens, loose.value, payer, countWaitMsMax);
  return { lints: ofValues, tokens: { ...counted, estimated: true } };
}
