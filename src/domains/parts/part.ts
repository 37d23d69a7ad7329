import type { TemplateFormat } from '../templates/index.ts';
import type { Kind, Reference } from '../versioned/index.ts';

/** The content of a version of a part. */
export interface PartContent {
  template: string;
  templateFormat: TemplateFormat;
}

export const partKind: Kind<PartContent> = {
  noun: 'part',
  idPrefix: 'prt',
  notFound: 'part_not_found',
  tables: { items: 'parts', versions: 'part_versions', labels: 'part_labels', labelHistory: 'part_label_history' },
  idColumn: 'part_id',
  reservedSlugs: [],
  fixedColumns: [],
  ownColumns: ['template', 'template_format'],
  toColumns: ({ template, templateFormat }) => ({ template, template_format: templateFormat }),
  fromColumns: (row) => ({
    template: String(row.template),
    templateFormat: row.template_format as TemplateFormat,
  }),
  toFixed: () => ({}),
  hashed: ({ template, templateFormat }) => ({ template, template_format: templateFormat }),
};

/**
 * Converts part tags to references, each once. `ref` is the tag's `slug`, `slug@3` or `slug@label`; `@03` is `@3`.
 */
export function referencesOf(uses: readonly { slug: string; ref: string }[]): Reference[] {
  const references = uses.map(({ slug, ref }) => ({ slug, pin: pinIn(ref) }));
  return [...new Map(references.map((each) => [`${each.slug}@${each.pin}`, each])).values()];
}

function pinIn(ref: string): string {
  const at = ref.indexOf('@');
  return at < 0 ? '' : ref.slice(at + 1).replace(/^0+(?=\d+$)/, '');
}
