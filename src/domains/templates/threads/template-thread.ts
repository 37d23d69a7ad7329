import { workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../lib/errors.ts';
import { lowerThreadPriority } from '../../../runtime/low-priority.ts';
import { noteThreadBegins } from '../../../runtime/thread-time.ts';
import { checkMetrics, scoreApart } from '../../prompt-search/index.ts';
import { diffContent } from '../diff-content.ts';
import { type CompiledLiquid, compileLiquid } from '../liquid/compile-liquid.ts';
import { createLiquid } from '../liquid/engine.ts';
import { liquidSizeOf } from '../liquid/liquid-size.ts';
import { renderLiquid } from '../liquid/render-liquid.ts';
import { mustacheSizeOf } from '../mustache/mustache-size.ts';
import { parseMustache } from '../mustache/parse-mustache.ts';
import { InvalidTemplateError, TemplateLimitError } from '../problems.ts';
import { type RenderedTexts, renderTexts } from '../render-texts.ts';
import { checkVariables, faultOfSchema } from '../schema/check-variables.ts';
import type { LiquidTemplate, MustacheTemplate, ParsedTemplate } from '../template.ts';
import { countIn, loadEncoding } from '../tokens/count-in.ts';
import type { Outcome, ParsedLiquid, TemplateSource, ThreadCall, ThreadWork, WorkName } from './tasks.ts';

if (workerData?.isBackground) lowerThreadPriority();

/** Parsed sources of each format that a thread caches, and their bytes. The rest of its memory is for the largest call. */
const keptMax = 64;
const mustacheBytesMax = 8 * 1024 * 1024;
const liquidBytesMax = 16 * 1024 * 1024;
/**
 * Milliseconds of one render. Less than the pool's time limit, so that a slow render ends with an
 * error and the thread survives.
 */
const renderMs = 200;

/** Runs one call. A thread of the pool runs one call at a time. */
export async function runCall<Name extends WorkName>(
  call: ThreadCall<Name>,
): Promise<Outcome<ThreadWork[Name]['result']>> {
  // Loads the tables before it begins, so that the caller's time limit does not include a
  // first load.
  if ('encoding' in call.task) await loadEncoding(call.task.encoding);
  noteThreadBegins(call.begun);
  try {
    return { result: await work[call.name](call.task) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { kind, code, message }: AppError = error;
    const problems = error instanceof InvalidTemplateError ? { problems: error.problems } : {};
    const budget = error instanceof TemplateLimitError ? { budget: error.budget } : {};
    return { fault: { kind, code, message, ...problems, ...budget } };
  }
}

const work: { [Name in WorkName]: (task: ThreadWork[Name]['task']) => Promise<ThreadWork[Name]['result']> } = {
  parse: async ({ sources }) => sources.map(parsedOrProblems),
  render: async (task) => renderTask(task),
  checkSchema: async ({ schema }) => {
    const fault = faultOfSchema(schema);
    return fault === undefined ? {} : { fault };
  },
  validate: async ({ workspaceId, schema, variables }) => checkVariables(workspaceId, schema, variables),
  diff: async ({ from, to }) => diffContent(from, to),
  checkMetrics: async ({ metrics }) => checkMetrics(metrics),
  score: async ({ metric, input }) => scoreApart(metric, input),
  countTokens: async ({ texts, encoding }) => countIn(encoding, texts),
};

function parsedOrProblems(source: string): ParsedLiquid {
  try {
    return compile(source).parsed;
  } catch (error) {
    if (error instanceof InvalidTemplateError) return { problems: error.problems };
    throw error;
  }
}

const liquid = createLiquid();

// Runs each kind of work once before the thread accepts calls, because calls have a time limit.
compileLiquid(liquid, '{{ a }}');
faultOfSchema({});

function renderTask(task: ThreadWork['render']['task']): RenderedTexts {
  const parts = new Map(task.parts.map(([ref, source]) => [ref, parse(source)] as const));
  const options = { variables: task.variables, parts, onMissing: task.onMissing };
  return renderTexts(task.templates.map(parse), options, renderMs, (template, context, scope, place) =>
    renderLiquid(liquid, compiledOf.get(template) ?? compile(template.source), context, scope, place),
  );
}

const parsedKept = new LRUCache<string, MustacheTemplate>({
  max: keptMax,
  maxSize: mustacheBytesMax,
  sizeCalculation: mustacheSizeOf,
});

function parse({ format, source }: TemplateSource): ParsedTemplate {
  if (format === 'liquid') return compile(source).parsed;
  if (format === 'plain') return { format, source, variables: [], parts: [] };
  const kept = parsedKept.get(source);
  if (kept !== undefined) return kept;
  const parsed = parseMustache(source);
  parsedKept.set(source, parsed);
  return parsed;
}

const compiledKept = new LRUCache<string, CompiledLiquid>({
  max: keptMax,
  maxSize: liquidBytesMax,
  sizeCalculation: liquidSizeOf,
});
/** So that a call which has the parsed template does not compile it again, also when it is not cached. */
const compiledOf = new WeakMap<LiquidTemplate, CompiledLiquid>();

function compile(source: string): CompiledLiquid {
  const kept = compiledKept.get(source);
  if (kept !== undefined) return kept;
  const compiled = compileLiquid(liquid, source);
  compiledKept.set(source, compiled);
  compiledOf.set(compiled.parsed, compiled);
  return compiled;
}
