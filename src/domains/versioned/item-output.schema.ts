import { z } from 'zod';
import type { Item, ItemAt, JsonObject, Version } from './item.ts';
import { labelsOf, versionKinds } from './item.ts';
import type { LabelMove } from './label-store.ts';

const labelSchema = z
  .object({ label: z.string(), version: z.int(), updated_at: z.iso.datetime() })
  .meta({ id: 'Label' });
const authorSchema = z
  .object({ type: z.string().meta({ example: 'api_key' }), id: z.string().nullable() })
  .meta({ id: 'Author' });

const itemShape = {
  id: z.string(),
  slug: z.string().meta({ example: 'support-answer' }),
  name: z.string().meta({ example: 'Support answer' }),
  description: z.string().nullable(),
  tags: z.array(z.string()),
  latest_version: z.int(),
  all_labels: z.array(labelSchema),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
};

const versionShape = {
  version: z.int(),
  commit_message: z.string().nullable(),
  kind: z.enum(versionKinds),
  parent_version: z.int().nullable(),
  rolled_back_from: z.int().nullable(),
  optimization_run_id: z.string().nullable(),
  content_hash: z.string().meta({ description: 'SHA-256 of the content as JSON with sorted keys' }),
  author: authorSchema,
  imported: z
    .object({ by: authorSchema, at: z.iso.datetime() })
    .meta({ id: 'Import' })
    .nullable()
    .meta({
      description:
        'Who imported the version, and when. It is null for a version that was not imported. Author, kind, time and optimization run ' +
        'of an imported version come from the import.',
    }),
};

/** One entry of a label's history. */
export const labelMoveSchema = z
  .object({
    version: z
      .int()
      .nullable()
      .meta({ description: 'The version that the label pointed to; null if the label was removed' }),
    author: authorSchema,
    at: z.iso.datetime(),
  })
  .meta({ id: 'LabelMove' });

/** Converts an entry of a label's history to its JSON form. */
export function labelMoveToWire({ version, author, at }: LabelMove): z.infer<typeof labelMoveSchema> {
  return { version, author: { ...author }, at: at.toISOString() };
}

const itemSchema = z.object(itemShape);

/** The version that a label points to, with the item of the label. */
export const labeledItemSchema = itemSchema.extend({ label: z.string(), version: z.int() }).meta({ id: 'LabeledItem' });

/** An item as lists show it: the number and labels of its newest version, but not its content. */
export const itemSummarySchema = itemSchema.extend({ version: z.int(), labels: z.array(z.string()) });

/** Returns the schema of one version; `content` are the fields of its content. */
export const versionSchemaOf = <Shape extends z.ZodRawShape>(content: Shape) =>
  z.object({ ...versionShape, ...content, created_at: z.iso.datetime() });

/** Returns the schema of an item with one of its versions. */
export const itemAtSchemaOf = <Shape extends z.ZodRawShape>(content: Shape) =>
  z.object({
    ...itemShape,
    ...versionShape,
    ...content,
    labels: z.array(z.string()).meta({ description: 'Labels that point to this version' }),
    version_created_at: z.iso.datetime(),
  });

/** Converts an item without a version to its JSON form. */
export function itemToWire(item: Item): z.infer<typeof itemSchema> {
  return {
    id: item.id,
    slug: item.slug,
    name: item.name,
    description: item.description,
    tags: [...item.tags],
    latest_version: item.latestVersion,
    all_labels: item.labels.map(({ label, version, updatedAt }) => ({
      label,
      version,
      updated_at: updatedAt.toISOString(),
    })),
    created_at: item.createdAt.toISOString(),
    updated_at: item.updatedAt.toISOString(),
  };
}

/** Converts an item to its JSON form in lists. */
export function itemSummaryToWire(item: Item): z.infer<typeof itemSummarySchema> {
  return { ...itemToWire(item), version: item.latestVersion, labels: labelsOf(item, item.latestVersion) };
}

/** Converts a version without its content and creation time. */
function madeToWire(version: Version<unknown>) {
  return {
    version: version.version,
    commit_message: version.commitMessage,
    kind: version.kind,
    parent_version: version.parentVersion,
    rolled_back_from: version.rolledBackFrom,
    optimization_run_id: version.optimizationRunId,
    content_hash: version.contentHash,
    author: { ...version.author },
    imported: version.imported && { by: { ...version.imported.by }, at: version.imported.at.toISOString() },
  };
}

/** Converts a version to its JSON form; `content` is its converted content. */
export function versionToWire<Wire extends JsonObject>(version: Version<unknown>, content: Wire) {
  return { ...madeToWire(version), ...content, created_at: version.createdAt.toISOString() };
}

/** Converts an item with one of its versions to its JSON form. */
export function itemAtToWire<Wire extends JsonObject>({ item, version }: ItemAt<unknown>, content: Wire) {
  return {
    ...itemToWire(item),
    ...madeToWire(version),
    ...content,
    labels: labelsOf(item, version.version),
    version_created_at: version.createdAt.toISOString(),
  };
}
