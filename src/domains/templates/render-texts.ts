import { Budget } from './budget.ts';
import type { Frame } from './look-up.ts';
import { renderMustache } from './mustache/render-mustache.ts';
import type { PartPlace, RenderScope } from './render-scope.ts';
import type { LiquidTemplate, ParsedTemplate, RenderOptions } from './template.ts';

/** Several templates rendered on one budget: the messages of a chat, or one text. */
export interface RenderedTexts {
  texts: string[];
  used: string[];
  missing: string[];
  /** The variables of `missing` that are required unconditionally. */
  needed: string[];
}

export type RenderLiquid = (template: LiquidTemplate, context: Frame, scope: RenderScope, place: PartPlace) => string;

/**
 * Renders in the current thread. `renderLiquid` works in a worker thread only, so a caller on the
 * event loop must not pass liquid templates.
 * @throws TemplateLimitError, InvalidError (`unknown_part`, `invalid_template`)
 */
export function renderTexts(
  templates: readonly ParsedTemplate[],
  { variables, parts, onMissing }: RenderOptions,
  timeMs: number,
  renderLiquid: RenderLiquid,
): RenderedTexts {
  const scope: RenderScope = {
    parts,
    onMissing,
    budget: new Budget(timeMs),
    used: new Set(),
    missing: new Map(),
    renderIsolated: (part, given, place) => renderOne(part, given, scope, place),
  };
  const renderOne = (template: ParsedTemplate, context: Frame, within: RenderScope, place: PartPlace): string => {
    if (template.format === 'mustache') return renderMustache(template, context, within, place);
    if (template.format === 'liquid') return renderLiquid(template, context, within, place);
    within.budget.output(template.source.length);
    return template.source;
  };
  const place = { partDepth: 0, unconditional: true };
  const texts = templates.map((template) => renderOne(template, { value: variables }, scope, place));
  const missing = [...scope.missing];
  return {
    texts,
    used: [...scope.used],
    missing: missing.map(([name]) => name),
    needed: missing.filter(([, needed]) => needed).map(([name]) => name),
  };
}
