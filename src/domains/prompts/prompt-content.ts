import { templateHash } from '../../lib/template-hash.ts';
import type { PromptMessage, TemplateFormat } from '../templates/index.ts';
import type { JsonObject, Kind } from '../versioned/index.ts';

export const promptTypes = ['text', 'chat'] as const;

/** The content of a version of a prompt. */
export type PromptContent = (
  | { type: 'text'; template: string }
  | { type: 'chat'; messages: readonly PromptMessage[] }
) & {
  templateFormat: TemplateFormat;
  config: JsonObject | null;
  inputSchema: JsonObject | null;
};

export const promptKind: Kind<PromptContent> = {
  noun: 'prompt',
  idPrefix: 'prm',
  notFound: 'prompt_not_found',
  tables: {
    items: 'prompts',
    versions: 'prompt_versions',
    labels: 'prompt_labels',
    labelHistory: 'prompt_label_history',
  },
  idColumn: 'prompt_id',
  reservedSlugs: ['export', 'import', 'validate'],
  fixedColumns: ['type'],
  ownColumns: ['template', 'messages', 'template_format', 'config', 'input_schema', 'optimization_run_id'],
  toColumns: (content) => ({
    template: content.type === 'text' ? content.template : null,
    template_hash: content.type === 'text' ? templateHash(content.template) : null,
    messages: content.type === 'chat' ? JSON.stringify(content.messages) : null,
    template_format: content.templateFormat,
    config: content.config === null ? null : JSON.stringify(content.config),
    input_schema: content.inputSchema === null ? null : JSON.stringify(content.inputSchema),
  }),
  fromColumns: (row) => ({
    ...(typeof row.template === 'string'
      ? { type: 'text', template: row.template }
      : { type: 'chat', messages: row.messages as readonly PromptMessage[] }),
    templateFormat: row.template_format as TemplateFormat,
    config: row.config as JsonObject | null,
    inputSchema: row.input_schema as JsonObject | null,
  }),
  toFixed: ({ type }) => ({ type }),
  hashed: promptContentToWire,
};

/**
 * Converts the content to the field names of the API. The hash of the content is computed over this
 * form.
 */
export function promptContentToWire(content: PromptContent) {
  const { type, templateFormat, config, inputSchema } = content;
  const text = content.type === 'text' ? { template: content.template } : { messages: [...content.messages] };
  return { type, ...text, template_format: templateFormat, config, input_schema: inputSchema };
}
