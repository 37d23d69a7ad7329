export { findPromptMentions, type PromptMentions } from './find-prompt-mentions.ts';
export { KnownPrompts, type PromptFinder, type SharedPrompts } from './known-prompts.ts';
export { linkListedPrompts } from './link-listed-prompts.ts';
export { type LinkableSpan, linkPrompts, promptCalls } from './link-prompts.ts';
export {
  type KnownPrompt,
  type PromptRef,
  promptMention,
  type SpanPrompt,
  statedPromptId,
} from './prompt.ts';
export { findKnownPrompts } from './prompt-link-store.ts';
export { mergeUses, type PromptUse, usesOf } from './prompt-uses.ts';
export { answerPrompts, promptsOver } from './prompts-over-port.ts';
export { resolvePromptRefs, resolveSpanPrompts, wantedMax } from './resolve-prompt-refs.ts';
