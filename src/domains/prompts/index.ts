export { findPromptMentions, type PromptMentions } from './find-prompt-mentions.ts';
export { KnownPrompts, type PromptFinder } from './known-prompts.ts';
export { type KnownPrompt, type PromptMention, type SpanPrompt, statedPromptId, templateKey } from './prompt.ts';
export { type PromptContent, promptKind, promptTypes } from './prompt-content.ts';
export { findKnownPrompts } from './prompt-link-store.ts';
export { checkText, contentFields, contentFrom, otelAttributes } from './prompts.schema.ts';
export { resolvePromptRefs } from './resolve-prompt-refs.ts';
