import { type Liquid, type Template, toValueSync } from 'liquidjs';
import { templateLimits } from '../limits.ts';
import { InvalidTemplateError, TemplateLimitError } from '../problems.ts';
import type { LiquidTemplate } from '../template.ts';
import { findGlobals } from './accesses.ts';
import { findFacts } from './find-facts.ts';
import { causedByStack, problemsOf } from './liquid-problems.ts';
import { trackOutputs } from './track-outputs.ts';

/** A template as LiquidJS renders it, with its variables and parts. */
export interface CompiledLiquid {
  templates: Template[];
  parsed: LiquidTemplate;
}

/**
 * Compiles a Liquid template. Must run in a worker thread only.
 * @throws InvalidTemplateError, TemplateLimitError, and the errors of LiquidJS's own limits
 */
export function compileLiquid(liquid: Liquid, source: string): CompiledLiquid {
  try {
    const templates = liquid.parse(source);
    checkNesting(templates);
    const isGlobal = findGlobals(templates);
    trackOutputs(liquid, templates, isGlobal);
    return { templates, parsed: { format: 'liquid', source, ...findFacts(templates, source, isGlobal) } };
  } catch (error) {
    if (causedByStack(error)) throw tooDeep();
    const problems = problemsOf(error, source, liquid);
    if (problems === undefined) throw error;
    throw new InvalidTemplateError(problems);
  }
}

/**
 * Refuses blocks that nest too deeply. Goes level by level, because the later steps take time that
 * grows with the square of the depth.
 */
function checkNesting(templates: readonly Template[]): void {
  let level = templates;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > templateLimits.nestingMax) throw tooDeep();
    level = level.flatMap((template) => (template.children ? toValueSync(template.children(false, true)) : []));
  }
}

function tooDeep(): TemplateLimitError {
  return new TemplateLimitError(`Blocks may be nested at most ${templateLimits.nestingMax} levels deep`, 'nesting');
}
