import { Context, type Liquid, toValueSync } from 'liquidjs';
import { AppError, InvalidError } from '../../../lib/errors.ts';
import { textOf } from '../insert-value.ts';
import { templateLimits } from '../limits.ts';
import { absent, descend, type Frame, isMissing } from '../look-up.ts';
import { InvalidTemplateError, type TemplateBudget, TemplateLimitError } from '../problems.ts';
import { deeper, type PartPlace, type RenderScope, recordMissing } from '../render-scope.ts';
import type { VariableUse } from '../template.ts';
import type { CompiledLiquid } from './compile-liquid.ts';
import { liquidLimits } from './engine.ts';
import { isLiquidError, problemsOf } from './liquid-problems.ts';
import { type Running, running } from './part-tag.ts';

/**
 * Renders a compiled template. Must run in a worker thread only.
 * @throws TemplateLimitError when a limit is exceeded
 * @throws InvalidTemplateError for errors that LiquidJS raises while rendering
 * @throws InvalidError (`unknown_part`)
 */
export function renderLiquid(
  liquid: Liquid,
  { templates, parsed }: CompiledLiquid,
  context: Frame,
  scope: RenderScope,
  { partDepth, unconditional }: PartPlace,
): string {
  noteVariables(parsed.variables, context, scope, unconditional);
  const before = running.get(liquid);
  const renderPart: Running['renderPart'] = (ref, given, always) => {
    const part = scope.parts.get(ref);
    const place = { partDepth: deeper(partDepth, ref), unconditional: unconditional && always };
    const paths = { get: (name: string) => outwards(given.paths.get(name), context) };
    if (part !== undefined) return scope.renderIsolated(part, { ...given, paths }, place);
    if (scope.onMissing === 'error')
      throw new InvalidError('unknown_part', `The part ${JSON.stringify(ref)} does not exist`);
    return scope.onMissing === 'keep' ? undefined : '';
  };
  running.set(liquid, { scope, renderPart });
  try {
    const own = { ...(typeof context.value === 'object' ? context.value : {}) };
    const ctx = new Context(own, liquid.options, { sync: true }, { liquid });
    const emitter = new BudgetEmitter(scope);
    toValueSync(liquid.renderer.renderTemplates(templates, ctx, emitter));
    return emitter.buffer;
  } catch (error) {
    throw cause(error, parsed.source, liquid);
  } finally {
    if (before) running.set(liquid, before);
  }
}

/** Emitter that inserts objects and lists as JSON and counts all output on the budget. */
class BudgetEmitter {
  buffer = '';
  readonly #scope: RenderScope;

  constructor(scope: RenderScope) {
    this.#scope = scope;
  }

  write(value: unknown): void {
    if (isMissing(value)) return;
    const text = textOf(value, this.#scope.budget);
    this.#scope.budget.output(text.length);
    this.buffer += text;
  }
}

function noteVariables(uses: readonly VariableUse[], context: Frame, scope: RenderScope, unconditional: boolean): void {
  for (const { path, unconditional: inserted } of uses) {
    const segments = path.split('.');
    const [first = ''] = segments;
    if (context.paths === undefined && !isMissing(descend(context.value, [first]))) scope.used.add(first);
    if (!inserted || !isMissing(follow(context.value, segments))) continue;
    const outer = outwards(path, context);
    recordMissing(scope, outer ?? path, unconditional && outer !== null);
  }
}

/** Translates a path of this template to that of its caller; null if no variable of the caller gives the value. */
function outwards(path: string | null | undefined, { paths }: Frame): string | null | undefined {
  if (typeof path !== 'string') return path;
  const [first = '', ...rest] = path.split('.');
  const outer = paths?.get(first);
  if (outer === undefined) return path;
  return outer === null ? null : [outer, ...rest].join('.');
}

/** Follows the path of a variable as LiquidJS does (`readProperty` in its context). */
function follow(value: unknown, [first = '', ...rest]: readonly string[]): unknown {
  return rest.reduce(property, descend(value, [first]));
}

function property(value: unknown, key: string): unknown {
  if (Array.isArray(value) && /^(?:first|last|-?\d+)$/.test(key)) return value.at(positions.get(key) ?? Number(key));
  if (key !== 'size') return descend(value, [key]);
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  const found = descend(value, [key]);
  return found === absent && typeof value === 'object' && value !== null ? Object.keys(value).length : found;
}

/** The indexes of these properties of lists. */
const positions: ReadonlyMap<string, number> = new Map([
  ['first', 0],
  ['last', -1],
]);

/** LiquidJS's names of its limits (Limiter in its render context and parser). */
const overLimits: ReadonlyMap<string, [message: string, budget: TemplateBudget]> = new Map([
  ['template render', [`Rendering takes longer than ${liquidLimits.renderMsMax} ms`, 'time']],
  ['memory alloc', [`Rendering creates more than ${liquidLimits.charactersMax} characters and items`, 'memory']],
  ['parse length', [`A template may have at most ${templateLimits.sourceCharactersMax} characters`, 'source']],
]);

/** V8 throws a RangeError both for a stack overflow and for a string above its maximum length. */
function stackOrLength({ message }: RangeError): TemplateLimitError {
  if (/call stack/.test(message)) return new TemplateLimitError('The template is nested too deeply', 'nesting');
  return new TemplateLimitError(`The rendered text is too long (${message})`, 'memory');
}

/**
 * Finds the error to report to the caller. LiquidJS wraps an error once for every tag around it.
 */
function cause(error: unknown, source: string, liquid: Liquid): unknown {
  let inner = error;
  for (let depth = 0; depth < 200 && isLiquidError(inner); depth++) {
    const first: unknown = 'errors' in inner && Array.isArray(inner.errors) ? inner.errors[0] : inner.originalError;
    if (first === undefined || first === null) break;
    inner = first;
  }
  if (inner instanceof AppError) return inner;
  if (inner instanceof RangeError) return stackOrLength(inner);
  const resource = inner instanceof Error ? /^(.*) limit exceeded/.exec(inner.message)?.[1] : undefined;
  const over = resource === undefined ? undefined : overLimits.get(resource);
  if (over !== undefined) return new TemplateLimitError(...over);
  const problems = problemsOf(error, source, liquid)?.map((problem) => ({ ...problem, code: 'render_failed' }));
  return problems === undefined ? error : new InvalidTemplateError(problems);
}
