import type { PromptRef, SpanPrompt } from './prompt.ts';

/**
 * Converts the prompt reference of a span to a mention that has not been looked up. An id without a
 * name is treated as a name until the project is found to have that prompt.
 */
export function promptMention(ref: PromptRef | null): SpanPrompt | null {
  if (ref === null) return null;
  const { id, name, version, rawVersion, source } = ref;
  const isName = name === '' && source !== 'template_match';
  return { id: '', name: isName ? id : name, key: isName ? '' : id, version, rawVersion, source };
}
