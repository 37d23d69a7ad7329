import { setImmediate as nextTurn } from 'node:timers/promises';
import { InvalidError } from '../../lib/errors.ts';
import { sharedThird } from '../../lib/pace.ts';
import { retainedBytesOf } from '../../lib/retained-bytes.ts';
import type { PromptContent } from '../prompts/index.ts';
import {
  analyzeInSlices,
  type ExpandedParts,
  expandParts,
  requiredPaths,
  type TemplateAnalysis,
  TemplateLimitError,
  type TemplateVariable,
  textsOf,
} from '../templates/index.ts';
import { type LoadedParts, loadParts, type PartPick, type PartSource, type PartsProject } from './load-parts.ts';
import { type ParsedPrompt, parseContent, placeholdersOf } from './parse-content.ts';
import { parsedSizeOf } from './parsed-size.ts';

/** A version of a prompt with its parts, ready to be rendered many times. Immutable. */
export interface CompiledPrompt {
  content: PromptContent;
  prompt: ParsedPrompt;
  expanded: ExpandedParts;
  /**
   * The parts that it was compiled with. When one of them resolves to another version, the prompt
   * must be compiled again.
   */
  picks: readonly PartPick[];
  parts: readonly { slug: string; version: number }[];
  placeholders: readonly string[];
  /** Top-level names that a template uses, and those that the input schema declares. */
  used: ReadonlySet<string>;
  declared: ReadonlySet<string>;
  /** Paths of the variables, and whether each is required. */
  variables: ReadonlyMap<string, boolean>;
  /** Approximate bytes in memory: its templates, config, input schema, paths of variables, and parts. */
  bytes: number;
}

/**
 * Compiles a version of a prompt, with the given parts or with those that its references resolve to now. Unknown parts are
 * reported by the render, which may not reach them.
 * @throws InvalidTemplateError, InvalidError (`part_cycle`), TemplateLimitError, UnavailableError
 */
export async function compilePrompt(
  source: PartSource,
  project: PartsProject,
  content: PromptContent,
  given?: LoadedParts,
): Promise<CompiledPrompt> {
  const prompt = await parseContent(source.threads.of(project.workspaceId), content);
  const templates = textsOf(prompt).map(({ template }) => template);
  const { picks, byRef } = given ?? (await loadParts(source, project, templates));
  const expanded = expandParts(templates, (_slug, ref) => byRef.get(ref));
  refuseProblems(expanded);
  // Yields to other requests: parsing and expanding may take about 20 ms each.
  await nextTurn();
  const rest = sharedThird(project.workspaceId);
  const analysis = await analyzeInSlices(templates, expanded.parts, content.inputSchema, rest);
  const parts = versionsOf(expanded);
  const { config, inputSchema } = content;
  const variables = new Map(promptVariables(analysis, inputSchema).map(({ path, required }) => [path, required]));
  const sizes = [...templates, ...expanded.parts.values()].map(parsedSizeOf);
  return {
    content,
    prompt,
    expanded,
    picks,
    parts,
    placeholders: placeholdersOf(prompt),
    used: new Set(analysis.variables.map(({ name }) => name)),
    declared: new Set(Object.keys(propertiesOf(content.inputSchema))),
    variables,
    bytes: sizes.reduce(
      (sum, bytes) => sum + bytes,
      retainedBytesOf({ config, inputSchema, picks, parts, paths: [...variables.keys()] }),
    ),
  };
}

function refuseProblems({ problems }: ExpandedParts): void {
  const fatal = problems.filter(({ code }) => code !== 'unknown_part');
  const [first] = fatal;
  if (first === undefined) return;
  const errors = fatal.map(({ text: _, part: __, ...fault }) => fault);
  if (first.code === 'part_cycle') throw new InvalidError('part_cycle', first.message, { errors });
  throw new TemplateLimitError(first.message, 'parts', errors);
}

function versionsOf({ states }: ExpandedParts): { slug: string; version: number }[] {
  const versions = new Map<string, { slug: string; version: number }>();
  for (const { slug, version } of states) {
    if (version !== undefined) versions.set(`${slug}@${version}`, { slug, version });
  }
  return [...versions.values()];
}

/**
 * Returns the variables of the texts, and those that only the schema requires, which have no
 * occurrences.
 */
export function promptVariables({ variables }: TemplateAnalysis, inputSchema: unknown): TemplateVariable[] {
  const known = new Set(variables.map(({ path }) => path));
  const others = requiredPaths(inputSchema).filter((path) => !known.has(path));
  const nameOf = (path: string) => path.split('.', 1)[0] ?? path;
  return [...variables, ...others.map((path) => ({ name: nameOf(path), path, required: true, occurrences: [] }))];
}

function propertiesOf(schema: PromptContent['inputSchema']): object {
  const properties = schema?.properties;
  return typeof properties === 'object' && properties !== null ? properties : {};
}
