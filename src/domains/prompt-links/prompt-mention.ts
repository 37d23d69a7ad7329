import type { PromptRef, SpanPrompt } from './prompt.ts';

/** What a span says of its prompt, not yet looked up. An id that is sent alone is a name until it turns out to be the project's. */
export function promptMention(ref: PromptRef | null): SpanPrompt | null {
  if (ref === null) return null;
  const { id, name, version, rawVersion, source } = ref;
  const isName = name === '' && source !== 'template_match';
  return { id: '', name: isName ? id : name, key: isName ? '' : id, version, rawVersion, source };
}
