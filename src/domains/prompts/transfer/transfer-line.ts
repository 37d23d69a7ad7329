import { z } from 'zod';
import { jsonObject } from '../../../lib/json-object.ts';
import { type PartContent, partKind } from '../../parts/index.ts';
import { templateFormats, templateLimits } from '../../templates/index.ts';
import { contentJson, createFields, type Item, itemLimits, type Version } from '../../versioned/index.ts';
import { type PromptContent, promptContentToWire, promptKind, promptTypes } from '../prompt-content.ts';
import { storedMessage } from '../prompts.schema.ts';

const version = z.int().min(1).max(2_147_483_647);
/**
 * A time that both Postgres and RFC 3339 can express, in milliseconds, the precision of an export.
 */
const time = z.iso
  .datetime()
  .regex(
    /^(?!0000)\d{4}-[^.]*(?:\.\d{1,3})?Z$/,
    'must be in the years 0001 to 9999 and have at most millisecond precision',
  );

const itemLine = <Record extends string>(record: Record, kind: typeof partKind | typeof promptKind) => {
  const { name, slug } = createFields(kind);
  return {
    record: z.literal(record),
    slug: slug.unwrap(),
    name,
    description: z.string().max(10_000).nullable(),
    tags: z.array(z.string().min(1).max(100)).max(50),
    // Counted first, because each name that is faulty makes issues of its own.
    labels: jsonObject
      .refine(
        (labels) => Object.keys(labels).length <= itemLimits.labelsMax,
        `must have at most ${itemLimits.labelsMax} labels`,
      )
      .pipe(z.record(z.string().regex(/^(?!latest$)[a-z][a-z0-9_.-]{0,35}$/), version)),
    versions: version,
    created_at: time,
    updated_at: time,
  };
};

const kind = z.enum(['create', 'update', 'rollback', 'optimization', 'import']);

const versionLine = <Record extends string>(record: Record) => ({
  record: z.literal(record),
  slug: z.string().max(100),
  version,
  template_format: z.enum(templateFormats),
  commit_message: z.string().max(2_000).nullable(),
  kind,
  parent_version: version.nullable(),
  rolled_back_from: version.nullable(),
  content_hash: z.string().regex(/^[0-9a-f]{64}$/),
  author: z.strictObject({ type: z.string().min(1).max(100), id: z.string().max(255).nullable() }),
  created_at: time,
});

const json = contentJson.nullable();

/** One line of an export. An item comes before its versions, which come in order. */
export const transferLine = z.discriminatedUnion('record', [
  z.strictObject(itemLine('part', partKind)),
  z.strictObject({
    ...versionLine('part_version'),
    kind: kind.refine(
      (given): boolean => given !== 'optimization',
      'must not be "optimization": parts are not optimized',
    ),
    template: z.string(),
  }),
  z.strictObject({ ...itemLine('prompt', promptKind), type: z.enum(promptTypes) }),
  z.strictObject({
    ...versionLine('prompt_version'),
    type: z.enum(promptTypes),
    template: z.string().optional(),
    messages: z.array(storedMessage).max(templateLimits.messagesMax).optional(),
    config: json,
    input_schema: json,
    optimization_run_id: z.string().max(100).nullable(),
  }),
]);
export type TransferLine = z.output<typeof transferLine>;
export type ItemLine = Extract<TransferLine, { labels: unknown }>;
export type VersionLine = Exclude<TransferLine, ItemLine>;

/** Returns the line of a part. */
export function partLine(item: Item): TransferLine {
  return { record: 'part', ...metadataOf(item) };
}

/** Returns the line of a prompt. */
export function promptLine(item: Item): TransferLine {
  return { record: 'prompt', ...metadataOf(item), type: item.fixed.type === 'chat' ? 'chat' : 'text' };
}

/** Returns the line of a version of a part. */
export function partVersionLine(item: Item, stored: Version<PartContent>): TransferLine {
  const { template, templateFormat } = stored.content;
  return { record: 'part_version', ...madeOf(item, stored), template, template_format: templateFormat };
}

/** Returns the line of a version of a prompt. */
export function promptVersionLine(item: Item, stored: Version<PromptContent>): TransferLine {
  return {
    record: 'prompt_version',
    ...madeOf(item, stored),
    ...promptContentToWire(stored.content),
    optimization_run_id: stored.optimizationRunId,
  };
}

function metadataOf({ slug, name, description, tags, labels, latestVersion, createdAt, updatedAt }: Item) {
  return {
    slug,
    name,
    description,
    tags: [...tags],
    labels: Object.fromEntries(labels.map((each) => [each.label, each.version])),
    versions: latestVersion,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

function madeOf({ slug }: Item, stored: Version<unknown>) {
  return {
    slug,
    version: stored.version,
    commit_message: stored.commitMessage,
    kind: stored.kind,
    parent_version: stored.parentVersion,
    rolled_back_from: stored.rolledBackFrom,
    content_hash: stored.contentHash,
    author: { ...stored.author },
    created_at: stored.createdAt.toISOString(),
  };
}

/** Returns the content of a version's line; undefined when it is neither a text nor a chat. */
export function contentOfLine(line: VersionLine): { part: PartContent } | { prompt: PromptContent } | undefined {
  const templateFormat = line.template_format;
  if (line.record === 'part_version') return { part: { template: line.template, templateFormat } };
  const rest = { templateFormat, config: line.config, inputSchema: line.input_schema };
  const { type, template, messages } = line;
  if (type === 'text' && template !== undefined && messages === undefined)
    return { prompt: { type, template, ...rest } };
  if (type === 'chat' && messages !== undefined && template === undefined)
    return { prompt: { type, messages, ...rest } };
  return undefined;
}
