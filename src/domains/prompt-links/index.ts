export { findPromptMentions, type PromptMentions } from './find-prompt-mentions.ts';
export { KnownPrompts, type PromptFinder } from './known-prompts.ts';
export { linkListedPrompts } from './link-listed-prompts.ts';
export { type LinkableSpan, linkPrompts } from './link-prompts.ts';
export {
  type KnownPrompt,
  type PromptMention,
  type PromptRef,
  type SpanPrompt,
  statedPromptId,
  templateKey,
} from './prompt.ts';
export { findKnownPrompts } from './prompt-link-store.ts';
export { promptMention } from './prompt-mention.ts';
export { mergeUses, type PromptUse, usesOf } from './prompt-uses.ts';
export { resolvePromptRefs } from './resolve-prompt-refs.ts';
export { resolveSpanPrompts } from './resolve-span-prompts.ts';
