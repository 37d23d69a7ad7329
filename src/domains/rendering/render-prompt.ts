import { InvalidError } from '../../lib/errors.ts';
import type { Waiter } from '../../lib/fair-lane-options.ts';
import type { PromptContent } from '../prompts/index.ts';
import {
  contextWindowOf,
  type OnMissing,
  renderMessages,
  renderTemplate,
  type TemplateThreads,
  type TokenCount,
  type TokenCounter,
  textsOf,
  type WorkspaceThreads,
} from '../templates/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import type { CompiledPrompt } from './compile-prompt.ts';
import type { CompiledPrompts } from './compiled-prompts.ts';
import { estimateCost, type Model, modelOf, type PriceSource } from './estimate-cost.ts';
import { fillVariables } from './fill-variables.ts';
import type { PartsProject } from './load-parts.ts';
import { messageTexts, type RenderedMessage } from './message-texts.ts';

export interface RenderDeps {
  prompts: ItemCache<PromptContent>;
  compiled: CompiledPrompts;
  threads: TemplateThreads;
  tokens: TokenCounter;
  prices: PriceSource;
  /** Throws when a budget blocks the render. */
  requireBudget?: ((render: BudgetedRender) => Promise<void>) | undefined;
}

/** What budgets must know of a render. */
export interface BudgetedRender {
  projectId: string;
  workspaceId: string;
  /** Id, slug and name. */
  prompt: readonly string[];
  model: string | null;
}

export interface RenderRequest {
  project: PartsProject;
  /** Rendering does not begin after its signal is aborted. */
  waiter?: Waiter | undefined;
  /** Id or slug. */
  idOrSlug: string;
  version?: number | undefined;
  label?: string | undefined;
  variables: Readonly<Record<string, unknown>>;
  placeholders: Readonly<Record<string, readonly RenderedMessage[]>>;
  onMissing: OnMissing;
  onExtra: 'ignore' | 'error';
  model?: string | undefined;
}

/** A rendered text, or rendered messages. */
export type RenderedText = { text: string } | { messages: readonly RenderedMessage[] };

export interface RenderWarning {
  code: 'context_window_exceeded' | 'unknown_part' | 'unused_placeholder';
  message: string;
  path: string;
}

export interface RenderedPrompt {
  item: Item;
  version: number;
  compiled: CompiledPrompt;
  rendered: RenderedText;
  variables: { used: string[]; defaulted: readonly string[]; missing: string[]; unused: string[] };
  tokens: TokenCount;
  /** null when no price is known. */
  estimatedCostNanoUsd: bigint | null;
  warnings: RenderWarning[];
}

/**
 * Renders a version of a prompt.
 * @throws NotFoundError (`prompt_not_found`, `version_not_found`, `label_not_found`)
 * @throws InvalidError (`invalid_variables`, `unknown_part`, `part_cycle`), InvalidTemplateError
 * @throws ExhaustedError (`budget_exceeded`)
 * @throws MissingVariablesError, TemplateLimitError, RateLimitedError, UnavailableError
 */
export async function renderPrompt(deps: RenderDeps, request: RenderRequest): Promise<RenderedPrompt> {
  const { project, variables: given, placeholders } = request;
  const { item, number } = await deps.prompts.locate(project, request.idOrSlug, request);
  const compiled = await deps.compiled.find(project, item, number);
  const model = modelOf(compiled.content.config, request.model);
  const { projectId, workspaceId } = project;
  const names = [item.id, item.slug, item.name];
  await deps.requireBudget?.({ projectId, workspaceId, prompt: names, model: model?.model ?? null });
  const unused = Object.keys(given).filter((name) => !compiled.used.has(name));
  const unfilled = Object.keys(placeholders).filter((name) => !compiled.placeholders.includes(name));
  if (request.onExtra === 'error') refuseExtra(compiled, unused, unfilled);
  const threads = deps.threads.of(project.workspaceId, request.waiter);
  const { variables, defaulted } = await fillVariables(threads, compiled, request);
  const { used, missing, ...rendered } = await renderCompiled(threads, compiled, { ...request, variables });
  const isUsed = new Set(used);
  const tokens = await countRendered(deps.tokens, rendered, { workspaceId: project.workspaceId, model });
  return {
    item,
    version: number,
    compiled,
    rendered,
    variables: { used, defaulted, missing, unused: unused.filter((name) => !isUsed.has(name)) },
    tokens,
    estimatedCostNanoUsd: model && (await estimateCost(deps.prices, project, model, tokens.count)),
    warnings: [...warnOfWindow(model, tokens), ...warnOfParts(compiled), ...unfilled.map(warnOfPlaceholder)],
  };
}

type Values = Pick<RenderRequest, 'variables' | 'placeholders' | 'onMissing'>;

/**
 * Renders the text or the messages with variables that already have their defaults.
 * @throws the errors of `renderTemplate`
 */
export async function renderCompiled(
  threads: WorkspaceThreads,
  { prompt, expanded }: Pick<CompiledPrompt, 'prompt' | 'expanded'>,
  { variables, placeholders, onMissing }: Values,
): Promise<RenderedText & { used: string[]; missing: string[] }> {
  const options = { variables, onMissing, parts: expanded.parts };
  if ('template' in prompt) return renderTemplate(threads, prompt.template, options);
  return renderMessages(threads, prompt.messages, { ...options, placeholders });
}

/**
 * Counts the tokens of a rendered prompt. The count is estimated when messages contain more than
 * text.
 */
export async function countRendered(
  tokens: TokenCounter,
  rendered: RenderedText,
  { workspaceId, model }: { workspaceId: string; model: Model | null },
  waitMsMax?: number,
): Promise<TokenCount> {
  const { texts, whole } =
    'text' in rendered ? { texts: [rendered.text], whole: true } : messageTexts(rendered.messages);
  const counted = await tokens.count({ workspaceId, texts, model: model?.model ?? null }, waitMsMax);
  return { ...counted, estimated: counted.estimated || !whole };
}

/** Refuses variables and placeholders that neither a template nor the input schema has. */
function refuseExtra(compiled: CompiledPrompt, unused: readonly string[], unfilled: readonly string[]): void {
  const extra = [
    ...unused.filter((name) => !compiled.declared.has(name)).map((name) => ['variables', name] as const),
    ...unfilled.map((name) => ['placeholders', name] as const),
  ];
  if (extra.length === 0) return;
  const names = extra.map(([, name]) => name);
  throw new InvalidError(
    'invalid_variables',
    `The prompt does not use ${names.slice(0, 20).join(', ').slice(0, 500)}`,
    {
      errors: extra.slice(0, faultsMax).map(([field, name]) => ({
        path: `${field}.${name}`,
        code: 'extra_variable',
        message: `Neither the template nor the input schema contains \`${name}\``,
      })),
    },
  );
}

const faultsMax = 100;

function warnOfWindow(model: Model | null, { count }: TokenCount): RenderWarning[] {
  const window = model === null ? undefined : contextWindowOf(model.model, model.provider || undefined);
  if (window === undefined || count <= window) return [];
  const message = `The prompt has ${count} tokens; ${model?.model} accepts at most ${window}`;
  return [{ code: 'context_window_exceeded', message, path: '' }];
}

/**
 * Warns about unknown parts. A render with `onMissing: 'error'` that succeeds did not reach them;
 * any other render omitted them or kept their tags.
 */
function warnOfParts({ prompt, expanded: { problems } }: CompiledPrompt): RenderWarning[] {
  if (problems.length === 0) return [];
  const texts = textsOf(prompt);
  return problems.map(({ message, text }) => ({
    code: 'unknown_part',
    message,
    path: texts[text]?.path ?? 'template',
  }));
}

function warnOfPlaceholder(name: string): RenderWarning {
  const message = `The prompt has no placeholder \`${name}\``;
  return { code: 'unused_placeholder', message, path: `placeholders.${name}` };
}
