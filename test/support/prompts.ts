import { newId } from '../../src/lib/ids.ts';
import { templateHash } from '../../src/lib/template-hash.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';

export interface PromptInput {
  slug: string;
  /** Default: the slug. */
  name?: string;
  /** The texts of versions 1, 2, 3…; default: one text. */
  templates?: readonly string[];
  deleted?: boolean;
}

/** Inserts a text prompt with its versions like the API. */
export async function insertPrompt(postgres: Postgres, projectId: string, prompt: PromptInput): Promise<string> {
  const { slug, name = slug, templates = [`Of ${slug}: {{question}}`], deleted = false } = prompt;
  const id = newId('prm');
  await postgres('prompts').insert({
    id,
    project_id: projectId,
    slug,
    name,
    type: 'text',
    latest_version: templates.length,
    deleted_at: deleted ? new Date() : null,
  });
  await postgres('prompt_versions').insert(
    templates.map((template, index) => ({
      project_id: projectId,
      prompt_id: id,
      version: index + 1,
      template,
      template_format: 'mustache',
      kind: index === 0 ? 'create' : 'update',
      parent_version: index === 0 ? null : index,
      content_hash: templateHash(JSON.stringify({ template })),
      template_hash: templateHash(template),
      author_type: 'api_key',
    })),
  );
  return id;
}

/** Deletes a prompt like the API. Its executions keep their link. */
export async function deletePrompt(postgres: Postgres, projectId: string, promptId: string): Promise<void> {
  await postgres('prompts').where({ project_id: projectId, id: promptId }).update({ deleted_at: new Date() });
}
