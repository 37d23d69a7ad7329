import { inHeavyTurn } from '../../lib/heavy-turns.ts';
import { templateLimits } from './limits.ts';
import type { Message, ParsedMessage } from './parse-messages.ts';
import { MissingVariablesError, TemplateLimitError } from './problems.ts';
import { type RenderedTexts, renderTexts } from './render-texts.ts';
import type { ParsedTemplate, Rendered, RenderOptions } from './template.ts';
import { beforeClone } from './threads/before-clone.ts';
import type { TemplateSource } from './threads/tasks.ts';
import type { WorkspaceThreads } from './threads/template-threads.ts';

export interface RenderedMessages<Given> extends Omit<Rendered, 'text'> {
  /**
   * Rendered messages. A placeholder remains when nothing is given for it and `onMissing` is
   * `keep`.
   */
  messages: (Message | Given | { placeholder: string })[];
}

/**
 * Renders a text.
 * @throws MissingVariablesError when `onMissing` is `error` and a required variable is missing
 * @throws TemplateLimitError, UnavailableError, InvalidError (`unknown_part`)
 * @throws InvalidTemplateError for an error of a liquid filter
 */
export async function renderTemplate(
  threads: WorkspaceThreads,
  template: ParsedTemplate,
  options: RenderOptions,
): Promise<Rendered> {
  const { texts, used, missing } = await render(threads, [template], options, []);
  return { text: texts[0] ?? '', used, missing };
}

/**
 * Renders a chat. All messages share one budget. The messages given for a placeholder replace it
 * unchanged.
 * @throws the errors of `renderTemplate`, and TemplateLimitError for too many or too large messages for placeholders
 */
export async function renderMessages<Given extends object>(
  threads: WorkspaceThreads,
  messages: readonly ParsedMessage[],
  options: RenderOptions & { placeholders: Readonly<Record<string, readonly Given[]>> },
): Promise<RenderedMessages<Given>> {
  checkGiven(messages, options.placeholders);
  const templates = messages.flatMap((each) => ('content' in each ? [each.content] : []));
  const empty = messages.flatMap((each) =>
    'placeholder' in each && !Object.hasOwn(options.placeholders, each.placeholder) ? [each.placeholder] : [],
  );
  const { texts, used, missing } = await render(threads, templates, options, empty);
  const rendered = texts.values();
  const filled = messages.flatMap((each): RenderedMessages<Given>['messages'] => {
    if ('content' in each) return [{ role: each.role, content: rendered.next().value ?? '' }];
    if (!empty.includes(each.placeholder)) return [...(options.placeholders[each.placeholder] ?? [])];
    return options.onMissing === 'keep' ? [each] : [];
  });
  return { messages: filled, used, missing };
}

/**
 * Checks the messages that replace placeholders, once for each use of a placeholder. A placeholder that is used once
 * inserts no more than the caller gave, so only the others are measured.
 * @throws TemplateLimitError
 */
function checkGiven(
  messages: readonly ParsedMessage[],
  placeholders: Readonly<Record<string, readonly object[]>>,
): void {
  const { insertedMessagesMax, outputCharactersMax } = templateLimits;
  const uses = new Map<readonly object[], number>();
  for (const each of messages) {
    const given =
      'placeholder' in each && Object.hasOwn(placeholders, each.placeholder) && placeholders[each.placeholder];
    if (given) uses.set(given, (uses.get(given) ?? 0) + 1);
  }
  let count = 0;
  for (const [given, times] of uses) count += given.length * times;
  if (count > insertedMessagesMax) {
    throw new TemplateLimitError(
      `At most ${insertedMessagesMax} messages may replace placeholders, and each use of a placeholder counts; these are ${count}`,
      'output',
    );
  }
  let characters = 0;
  for (const [given, times] of uses) if (times > 1) characters += JSON.stringify(given).length * times;
  if (characters > outputCharactersMax) {
    throw new TemplateLimitError(
      `The messages for placeholders that are used more than once may have at most ${outputCharactersMax} characters as JSON, and each use counts; these have ${characters}`,
      'output',
    );
  }
}

async function render(
  threads: WorkspaceThreads,
  templates: readonly ParsedTemplate[],
  options: RenderOptions,
  emptyPlaceholders: readonly string[],
): Promise<RenderedTexts> {
  const isLiquid = [...templates, ...options.parts.values()].some(({ format }) => format === 'liquid');
  const rendered = isLiquid
    ? await renderInThread(threads, templates, options)
    : await inHeavyTurn(threads.workspaceId, () => renderHere(templates, options));
  const missing = [...rendered.missing, ...emptyPlaceholders.map((name) => `placeholders.${name}`)];
  const { needed } = rendered;
  if (options.onMissing === 'error' && needed.length + emptyPlaceholders.length > 0) {
    throw new MissingVariablesError(needed, emptyPlaceholders);
  }
  return { ...rendered, missing };
}

function renderHere(templates: readonly ParsedTemplate[], options: RenderOptions): RenderedTexts {
  return renderTexts(templates, options, templateLimits.renderMsMax, () => {
    throw new Error('A liquid template must be rendered in a thread');
  });
}

async function renderInThread(threads: WorkspaceThreads, templates: readonly ParsedTemplate[], options: RenderOptions) {
  await beforeClone(threads, options.variables);
  return threads.run('render', {
    templates: templates.map(sourceOf),
    parts: [...options.parts].map(([ref, part]) => [ref, sourceOf(part)]),
    variables: options.variables,
    onMissing: options.onMissing,
  });
}

/** Each template is sent as the same object, so that its digest is computed once; see `RefusedWork`. */
const sourcesKept = new WeakMap<ParsedTemplate, TemplateSource>();

function sourceOf(template: ParsedTemplate): TemplateSource {
  const kept = sourcesKept.get(template) ?? { format: template.format, source: template.source };
  sourcesKept.set(template, kept);
  return kept;
}
