export {
  analyzeInSlices,
  analyzeTemplates,
  type TemplateAnalysis,
  type TemplateVariable,
} from './analyze-templates.ts';
export { type ExpandedParts, expandParts, type ResolvedPart } from './expand-parts.ts';
export { templateLimits } from './limits.ts';
export { contextWindowOf } from './lint/context-window.ts';
export { type Lint, lintTemplate, textsOf } from './lint-template.ts';
export { descend, isMissing } from './look-up.ts';
export { type ParsedMessage, type PromptMessage, parseMessages } from './parse-messages.ts';
export { parseTemplate } from './parse-template.ts';
export { InvalidTemplateError, MissingVariablesError, TemplateLimitError } from './problems.ts';
export { renderMessages, renderTemplate } from './render-template.ts';
export { requiredPaths } from './schema/schema-paths.ts';
export { type OnMissing, type ParsedTemplate, type TemplateFormat, templateFormats } from './template.ts';
export { TemplateThreads, type WorkspaceThreads } from './threads/template-threads.ts';
export { type TokenCount, TokenCounter } from './tokens/token-counter.ts';
export { checkInputSchema, validateVariables } from './validate-variables.ts';
