export { findPromptMentions, type PromptMentions } from './find-prompt-mentions.ts';
export { KnownPrompts } from './known-prompts.ts';
export { type KnownPrompt, type PromptMention, type SpanPrompt, statedPromptId, templateKey } from './prompt.ts';
export { findKnownPrompts } from './prompt-link-store.ts';
export { type PromptsDeps, promptsEndpoints } from './prompts.routes.ts';
export { resolvePromptRefs } from './resolve-prompt-refs.ts';
