import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Waiter } from '../../lib/fair-lane-options.ts';
import { sharedThird } from '../../lib/pace.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { PromptContent } from '../prompts/index.ts';
import {
  analyzeInSlices,
  checkInputSchema,
  type ExpandedParts,
  type Lint,
  lintTemplate,
  type TemplateAnalysis,
  type TemplateVariable,
  type TokenCount,
  textsOf,
  type WorkspaceThreads,
} from '../templates/index.ts';
import { type Comparable, type Compatibility, compareVariables } from './compare-variables.ts';
import { promptVariables } from './compile-prompt.ts';
import { expandDraft, similarParts } from './draft-parts.ts';
import { attempt } from './draft-problems.ts';
import { modelOf } from './estimate-cost.ts';
import type { PartSource, PartsProject } from './load-parts.ts';
import { type ParsedPrompt, parseContent, placeholdersOf } from './parse-content.ts';
import type { RenderDeps } from './render-prompt.ts';
import { tryDraft } from './try-draft.ts';

export interface ValidateDeps extends RenderDeps {
  postgres: Postgres;
  source: PartSource;
}

export interface Draft {
  project: PartsProject;
  /** Work in threads does not begin after its signal is aborted. */
  waiter?: Waiter | undefined;
  content: PromptContent;
  /** Slug of the part that this is a draft of. The part may not exist yet. */
  partSlug?: string | undefined;
  variables?: Readonly<Record<string, unknown>> | undefined;
  compareTo?: { idOrSlug: string; version?: number | undefined; label?: string | undefined } | undefined;
}

export interface DraftReport {
  /** Errors and warnings. */
  lints: Lint[];
  variables: TemplateVariable[];
  /** Fields of the texts, indexed by the `text` of an occurrence. */
  textPaths: string[];
  placeholders: string[];
  parts: ExpandedParts['states'];
  tokens: TokenCount;
  compatibility: Compatibility | undefined;
}

interface Understood {
  prompt: ParsedPrompt;
  expanded: ExpandedParts;
  analysis: TemplateAnalysis;
}

/**
 * Validates a draft before it is saved. The report has all faults of the draft itself.
 * @throws NotFoundError for what `compareTo` names
 * @throws RateLimitedError, UnavailableError
 */
export async function validateDraft(deps: ValidateDeps, draft: Draft): Promise<DraftReport> {
  const known = draft.compareTo && (await findComparable(deps, draft.project, draft.compareTo));
  const threads = deps.threads.of(draft.project.workspaceId, draft.waiter);
  const { inputSchema } = draft.content;
  const schema = await attempt('input_schema', async () => inputSchema && checkInputSchema(threads, inputSchema));
  const schemaLints = 'lints' in schema ? schema.lints : [];
  // With an invalid schema the template is still checked.
  const content = { ...draft.content, inputSchema: schemaLints.length === 0 ? inputSchema : null };
  const field = content.type === 'text' ? 'template' : 'messages';
  const understood = await attempt(field, () => understand(deps.source, threads, { ...draft, content }));
  if ('lints' in understood) return unparsed(deps, { ...draft, content }, [...schemaLints, ...understood.lints]);
  const report = await reportOn({ ...deps, threads }, { ...draft, content }, understood.value);
  const { variables, placeholders } = report;
  const own = {
    type: content.type,
    inputSchema: content.inputSchema,
    variables: requiredByPath(variables),
    placeholders,
  };
  return {
    ...report,
    lints: [...schemaLints, ...report.lints],
    compatibility: known && compareVariables(known, own),
  };
}

/**
 * Yields to other requests between the steps, because each may take about 20 ms for a hostile
 * draft.
 */
async function understand(
  source: PartSource,
  threads: WorkspaceThreads,
  { project, content, partSlug }: Draft,
): Promise<Understood> {
  const prompt = await parseContent(threads, content);
  await nextTurn();
  const templates = textsOf(prompt).map(({ template }) => template);
  const expanded = await expandDraft(source, project, templates, partSlug);
  await nextTurn();
  const rest = sharedThird(project.workspaceId);
  const analysis = await analyzeInSlices(templates, expanded.parts, content.inputSchema, rest);
  await nextTurn();
  return { prompt, expanded, analysis };
}

async function reportOn(
  deps: Omit<ValidateDeps, 'threads'> & { threads: WorkspaceThreads },
  { project, content, variables: given }: Draft,
  { prompt, expanded, analysis }: Understood,
): Promise<Omit<DraftReport, 'compatibility'>> {
  const variables = promptVariables(analysis, content.inputSchema);
  const placeholders = placeholdersOf(prompt);
  const model = modelOf(content.config, undefined);
  const tryable = { content, prompt, expanded, placeholders, variables: requiredByPath(variables) };
  const isWhole = expanded.problems.every(({ code }) => code === 'unknown_part');
  const tried = isWhole
    ? await tryDraft(deps, tryable, given, { workspaceId: project.workspaceId, model })
    : { lints: [], tokens: undefined };
  const tokens = tried.tokens ?? (await countSource(deps, project, content));
  await nextTurn();
  const lints = await lintTemplate(
    {
      ...{ prompt, expanded, analysis },
      knownParts: await similarParts(deps.postgres, project, expanded),
      inputSchema: content.inputSchema,
      tokens: tokens.count,
      ...(model === null ? {} : { model: model.model }),
      ...(model === null || model.provider === '' ? {} : { provider: model.provider }),
    },
    sharedThird(project.workspaceId),
  );
  const textPaths = textsOf(prompt).map(({ path }) => path);
  return { lints: [...lints, ...tried.lints], variables, textPaths, placeholders, parts: expanded.states, tokens };
}

async function unparsed(deps: ValidateDeps, { project, content }: Draft, lints: Lint[]): Promise<DraftReport> {
  const nothing = { variables: [], textPaths: [], placeholders: [], parts: [], compatibility: undefined };
  return { ...nothing, lints, tokens: await countSource(deps, project, content) };
}

async function countSource(
  { tokens }: Pick<ValidateDeps, 'tokens'>,
  { workspaceId }: PartsProject,
  content: PromptContent,
): Promise<TokenCount> {
  const messages = content.type === 'chat' ? content.messages : [{ role: '', content: content.template }];
  const texts = messages.flatMap((each) => ('content' in each ? [each.content] : []));
  const counted = await tokens.count({ workspaceId, texts, model: modelOf(content.config, undefined)?.model ?? null });
  return { ...counted, estimated: true };
}

async function findComparable(
  { prompts, compiled }: ValidateDeps,
  project: Draft['project'],
  { idOrSlug, version, label }: NonNullable<Draft['compareTo']>,
): Promise<Comparable> {
  const { item, number } = await prompts.locate(project, idOrSlug, { version, label });
  const { content, variables, placeholders } = await compiled.find(project, item, number);
  return { type: content.type, inputSchema: content.inputSchema, variables, placeholders };
}

function requiredByPath(variables: readonly TemplateVariable[]): Map<string, boolean> {
  return new Map(variables.map(({ path, required }) => [path, required]));
}
