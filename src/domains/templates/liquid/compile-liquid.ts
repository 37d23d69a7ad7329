import type { Liquid, Template } from 'liquidjs';
import { InvalidTemplateError } from '../problems.ts';
import type { LiquidTemplate } from '../template.ts';
import { findFacts } from './find-facts.ts';
import { problemsOf } from './liquid-problems.ts';
import { trackOutputs } from './track-outputs.ts';

/** A template as LiquidJS renders it, with what is known of it. */
export interface CompiledLiquid {
  templates: Template[];
  parsed: LiquidTemplate;
}

/** Only for the thread. Throws InvalidTemplateError, and what LiquidJS throws over its limits. */
export function compileLiquid(liquid: Liquid, source: string): CompiledLiquid {
  try {
    const templates = liquid.parse(source);
    trackOutputs(liquid, templates);
    return { templates, parsed: { format: 'liquid', source, ...findFacts(templates, source) } };
  } catch (error) {
    const problems = problemsOf(error, source, liquid);
    if (problems === undefined) throw error;
    throw new InvalidTemplateError(problems);
  }
}
