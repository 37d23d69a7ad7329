export { analyseTemplate, type TemplateAnalysis, type TemplateVariable } from './analyse-template.ts';
export { type ContentDiff, diffContent } from './diff-content.ts';
export { diffText } from './diff-text.ts';
export { type ExpandedParts, expandParts, type ResolvedPart, type ResolvePart } from './expand-parts.ts';
export { templateLimits } from './limits.ts';
export { contextWindowOf } from './lint/context-window.ts';
export { type Lint, type LintInput, lintTemplate } from './lint-template.ts';
export { type Message, type ParsedMessage, type PromptMessage, parseMessages } from './parse-messages.ts';
export { parseTemplate } from './parse-template.ts';
export { InvalidTemplateError, MissingVariablesError, TemplateLimitError, type TemplateProblem } from './problems.ts';
export { type RenderedMessages, renderMessages, renderTemplate } from './render-template.ts';
export {
  noParts,
  type OnMissing,
  type ParsedTemplate,
  type Parts,
  type Rendered,
  type RenderOptions,
  type TemplateFormat,
  templateFormats,
} from './template.ts';
export { TemplateThreads } from './threads/template-threads.ts';
export { countTokens, type TokenCount } from './tokens/count-tokens.ts';
export { checkInputSchema, validateVariables } from './validate-variables.ts';
