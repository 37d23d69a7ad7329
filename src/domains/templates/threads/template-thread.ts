import { LRUCache } from 'lru-cache';
import { AppError } from '../../../lib/errors.ts';
import { diffContent } from '../diff-content.ts';
import { type CompiledLiquid, compileLiquid } from '../liquid/compile-liquid.ts';
import { createLiquid } from '../liquid/engine.ts';
import { renderLiquid } from '../liquid/render-liquid.ts';
import { parseMustache } from '../mustache/parse-mustache.ts';
import { InvalidTemplateError, TemplateLimitError } from '../problems.ts';
import { type RenderedTexts, renderTexts } from '../render-texts.ts';
import { checkVariables, compileSchema } from '../schema/check-variables.ts';
import type { ParsedTemplate } from '../template.ts';
import { countIn, loadEncoding } from '../tokens/count-in.ts';
import type { Outcome, ParsedLiquid, TemplateSource, ThreadCall, ThreadWork, WorkName } from './tasks.ts';

/** Sources a thread keeps parsed; each is at most 256 Ki characters, and twice as many may be kept. */
const keptMax = 64;
/** Less than the thread's own limit, so that a slow render ends as an error rather than as a dead thread. */
const renderMs = 200;

/** What a thread of the pool runs, one call at a time. */
export async function runCall<Name extends WorkName>(
  call: ThreadCall<Name>,
): Promise<Outcome<ThreadWork[Name]['result']>> {
  // The caller's time limit is for the work, not for a first load of large tables.
  if ('encoding' in call.task) await loadEncoding(call.task.encoding);
  Atomics.store(call.started, 0, 1);
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
    const compiled = compileSchema(schema, true);
    return typeof compiled === 'string' ? { fault: compiled } : {};
  },
  validate: async ({ schema, variables }) => checkVariables(schema, variables),
  diff: async ({ from, to }) => diffContent(from, to),
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

// Before the thread is there for calls, whose time is limited, it has done each of its works once.
compileLiquid(liquid, '{{ a }}');
compileSchema({}, true);

function renderTask(task: ThreadWork['render']['task']): RenderedTexts {
  const parts = new Map(task.parts.map(([ref, source]) => [ref, parse(source)] as const));
  const options = { variables: task.variables, parts, onMissing: task.onMissing };
  return renderTexts(task.templates.map(parse), options, renderMs, (template, context, scope, place) =>
    renderLiquid(liquid, compile(template.source), context, scope, place),
  );
}

const parsedKept = new LRUCache<string, ParsedTemplate>({ max: keptMax });

function parse({ format, source }: TemplateSource): ParsedTemplate {
  if (format === 'liquid') return compile(source).parsed;
  if (format === 'plain') return { format, source, variables: [], parts: [] };
  const kept = parsedKept.get(source);
  if (kept !== undefined) return kept;
  const parsed = parseMustache(source);
  parsedKept.set(source, parsed);
  return parsed;
}

const compiledKept = new LRUCache<string, CompiledLiquid>({ max: keptMax });

function compile(source: string): CompiledLiquid {
  const kept = compiledKept.get(source);
  if (kept !== undefined) return kept;
  const compiled = compileLiquid(liquid, source);
  compiledKept.set(source, compiled);
  return compiled;
}
