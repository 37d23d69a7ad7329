import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import { integerParam, repeatedParam } from '../../http/query.ts';
import type { Item, ItemAt, JsonObject, Version } from './item.ts';
import { labelsOf, versionKinds } from './item.ts';
import { type ItemFilters, itemSorts } from './item-list-store.ts';
import type { ItemKind } from './kind.ts';
import type { LabelMove } from './label-store.ts';
import { isReserved, slugPattern } from './slug.ts';

export const projectParams = z.strictObject({ project_id: z.string().min(1).max(64) });

const versionMax = 2_147_483_647;
export const versionParam = integerParam({ min: 1, max: versionMax });
export const versionNumber = z.int().min(1).max(versionMax).meta({ example: 3 });

export const labelName = z
  .string()
  .regex(/^[a-z][a-z0-9_.-]{0,35}$/, 'must be a lower-case letter and then up to 35 of a-z, 0-9, _, . and -')
  .refine((label) => label !== 'latest', 'is reserved: latest always is the newest version')
  .meta({ example: 'production' });

const tag = z.string().trim().min(1).max(100);
const tags = z
  .array(tag)
  .max(50)
  .transform((given) => [...new Set(given)]);

const name = z.string().trim().min(1).max(200).meta({ example: 'Support answer' });
const description = z.string().max(10_000).nullish();
const commitMessage = z.string().max(2_000).nullish();
const labels = z
  .array(labelName)
  .max(50)
  .optional()
  .meta({ example: ['production'] });

const slugOf = (kind: ItemKind) =>
  z
    .string()
    .regex(slugPattern, 'must be a-z or 0-9 and then up to 99 of a-z, 0-9, _, . and -')
    .refine((slug) => !isReserved(kind, slug), 'is reserved')
    .meta({ example: 'support-answer' });

/** Fields of a body that creates an item; {@link newItemFrom} reads them. */
export const createFields = (kind: ItemKind) => ({
  name,
  slug: slugOf(kind).optional(),
  description,
  tags: tags.nullish(),
  labels,
  commit_message: commitMessage,
});

/** Fields of a body that changes one: what is absent stays, null clears. */
export const updateFields = (kind: ItemKind) => ({
  name: name.optional(),
  slug: slugOf(kind).optional(),
  description,
  tags: tags.nullish(),
  labels,
  commit_message: commitMessage,
  base_version: versionNumber.optional().meta({ description: 'The newest version as the caller knows it, else 409' }),
});

interface ItemBody {
  description?: string | null | undefined;
  tags?: string[] | null | undefined;
  labels?: string[] | undefined;
  commit_message?: string | null | undefined;
}

export function newItemFrom(body: ItemBody & { name: string; slug?: string | undefined }) {
  const { name: called, slug, description: described = null, tags: given, labels: pointed = [] } = body;
  const metadata = { name: called, slug, description: described, tags: given ?? [] };
  return { metadata, labels: pointed, commitMessage: body.commit_message ?? null };
}

export function changesFrom(
  body: ItemBody & { name?: string | undefined; slug?: string | undefined; base_version?: number | undefined },
) {
  const { name: called, slug, description: described, tags: given, labels: pointed = [] } = body;
  return {
    metadata: { name: called, slug, description: described, tags: given === null ? [] : given },
    labels: pointed,
    commitMessage: body.commit_message ?? null,
    baseVersion: body.base_version,
  };
}

export const listQuery = {
  ...pageParams,
  q: z.string().max(200).optional().meta({ description: 'Words in name, slug or description' }),
  tag: repeatedParam(tag).optional().meta({ description: 'Repeated: all of them' }),
  label: z.string().max(36).optional().meta({ description: 'Has a version with this label' }),
  name: z.string().max(200).optional().meta({ description: 'Exactly' }),
  updated_after: z.iso.datetime({ offset: true }).optional(),
  sort: z.enum(itemSorts).default('-updated_at'),
};

export function filtersFrom(query: {
  q?: string | undefined;
  tag?: readonly string[] | undefined;
  label?: string | undefined;
  name?: string | undefined;
  updated_after?: string | undefined;
}): ItemFilters {
  const { tag: wanted, updated_after: after, q, label, name: called } = query;
  return { q, label, name: called, tags: wanted, updatedAfter: after === undefined ? undefined : new Date(after) };
}

const labelSchema = z.object({ label: z.string(), version: z.int(), updated_at: z.iso.datetime() });
const authorSchema = z.object({ type: z.string().meta({ example: 'api_key' }), id: z.string().nullable() });

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
};

/** One entry of a label's history. */
export const labelMoveSchema = z.object({
  version: z.int().nullable().meta({ description: 'null where the label was removed' }),
  author: authorSchema,
  at: z.iso.datetime(),
});

export function labelMoveToWire({ version, author, at }: LabelMove): z.infer<typeof labelMoveSchema> {
  return { version, author: { ...author }, at: at.toISOString() };
}

/** As lists show an item. */
export const itemSchema = z.object(itemShape);

/** One version; `content` are the fields of its content. */
export const versionSchemaOf = <Shape extends z.ZodRawShape>(content: Shape) =>
  z.object({ ...versionShape, ...content, created_at: z.iso.datetime() });

/** An item with one of its versions. */
export const itemAtSchemaOf = <Shape extends z.ZodRawShape>(content: Shape) =>
  z.object({
    ...itemShape,
    ...versionShape,
    ...content,
    labels: z.array(z.string()).meta({ description: 'Those of this version' }),
    version_created_at: z.iso.datetime(),
  });

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

/** A version without its content and time. */
export function madeToWire(version: Version<unknown>) {
  return {
    version: version.version,
    commit_message: version.commitMessage,
    kind: version.kind,
    parent_version: version.parentVersion,
    rolled_back_from: version.rolledBackFrom,
    optimization_run_id: version.optimizationRunId,
    content_hash: version.contentHash,
    author: { ...version.author },
  };
}

export function versionToWire<Wire extends JsonObject>(version: Version<unknown>, content: Wire) {
  return { ...madeToWire(version), ...content, created_at: version.createdAt.toISOString() };
}

export function itemAtToWire<Wire extends JsonObject>({ item, version }: ItemAt<unknown>, content: Wire) {
  return {
    ...itemToWire(item),
    ...madeToWire(version),
    ...content,
    labels: labelsOf(item, version.version),
    version_created_at: version.createdAt.toISOString(),
  };
}
