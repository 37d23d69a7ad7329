import { z } from 'zod';
import { templateFormats } from '../templates/index.ts';
import {
  createFields,
  type ItemAt,
  itemAtSchemaOf,
  itemAtToWire,
  itemSummarySchema,
  updateFields,
  type Version,
  versionSchemaOf,
  versionToWire,
} from '../versioned/index.ts';
import { type PartContent, partKind } from './part.ts';
import type { PartUser } from './part-usage-store.ts';

const template = z.string().meta({ example: 'Answer in a {{tone}} tone.' });
const templateFormat = z.enum(templateFormats);

export const createPartBody = z
  .strictObject({ ...createFields(partKind), template, template_format: templateFormat.default('mustache') })
  .meta({ example: { name: 'Tone', slug: 'tone', template: 'Answer in a {{tone}} tone.' } });

export const updatePartBody = z
  .strictObject({
    ...updateFields(partKind),
    template: template.optional(),
    template_format: templateFormat.optional(),
  })
  .meta({ example: { template: 'Answer in a {{tone}} tone, briefly.' } });

const contentShape = { template, template_format: templateFormat };
export const partSummarySchema = itemSummarySchema.meta({ id: 'PartSummary' });
export const partSchema = itemAtSchemaOf(contentShape).meta({ id: 'Part' });
export const updatedPartSchema = partSchema.extend({ created_version: z.boolean() }).meta({ id: 'UpdatedPart' });
export const partVersionSchema = versionSchemaOf(contentShape).meta({ id: 'PartVersion' });

/** Converts a part with one of its versions to its JSON form. */
export function partToWire(at: ItemAt<PartContent>): z.infer<typeof partSchema> {
  return itemAtToWire(at, contentToWire(at.version.content));
}

/** Converts a version of a part to its JSON form. */
export function partVersionToWire(version: Version<PartContent>): z.infer<typeof partVersionSchema> {
  return versionToWire(version, contentToWire(version.content));
}

function contentToWire({ template: text, templateFormat: format }: PartContent) {
  return { template: text, template_format: format };
}

export const partUserSchema = z
  .object({
    type: z.enum(['prompt', 'part']),
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    version: z.int(),
    is_latest: z.boolean(),
    labels: z.array(z.string()),
    direct: z
      .boolean()
      .meta({ description: 'Whether the version includes the part directly, not only through other parts' }),
  })
  .meta({ id: 'PartUser' });

/** Converts a version that includes a part to its JSON form. */
export function partUserToWire(user: PartUser): z.infer<typeof partUserSchema> {
  const { isLatest, isDirect, type, id, slug, name, version, labels } = user;
  return { type, id, slug, name, version, is_latest: isLatest, labels, direct: isDirect };
}
