import {
  allowPauses,
  allowStatements,
  idleInTransactionMsMax,
  type Postgres,
  type Transaction,
} from '../../../stores/postgres/client.ts';
import { partKind } from '../../parts/index.ts';
import type { Reference } from '../../versioned/index.ts';
import { type PromptContent, promptKind } from '../prompt-content.ts';
import { contentOfLine, type ItemLine, type VersionLine } from './transfer-line.ts';

/** A checked line of a version, with the parts it references. */
export interface CheckedVersion {
  number: number;
  line: VersionLine;
  references: readonly Reference[];
}

const statementMsMax = 60_000;

/**
 * Creates temporary tables that exist in this transaction only. Staging there locks no other table
 * while lines are read. After the first fault the other lines are only checked, without a statement, for at most
 * `checkingMsMax`.
 */
export async function createStaging(
  transaction: Transaction,
  { checkingMsMax }: { checkingMsMax: number },
): Promise<void> {
  await allowStatements(transaction, statementMsMax);
  await allowPauses(transaction, checkingMsMax + idleInTransactionMsMax);
  await transaction.raw(`
    create temporary table staged_items (
      line integer, kind text, slug text, name text, description text, tags text[], type text, versions integer, labels json,
      created_at timestamptz, updated_at timestamptz,
      -- set when the lines are compared with the stored items
      item_id text, base_version integer, primary key (kind, slug)) on commit drop;
    create temporary table staged_versions (
      line integer, kind text, slug text, version integer, template text, messages json, template_format text, config json,
      input_schema json, template_hash text, commit_message text, version_kind text, parent_version integer,
      rolled_back_from integer, optimization_run_id text, content_hash text, author_type text, author_id text,
      created_at timestamptz, primary key (kind, slug, version)) on commit drop;
    create temporary table staged_uses (kind text, slug text, version integer, used_slug text, pin text) on commit drop;
  `);
}

/** Inserts lines of items into the temporary table. */
export async function stageItems(transaction: Postgres, items: readonly { number: number; line: ItemLine }[]) {
  if (items.length === 0) return;
  await transaction('staged_items').insert(
    items.map(({ number, line }) => ({
      line: number,
      kind: line.record,
      slug: line.slug,
      name: line.name,
      description: line.description,
      tags: line.tags,
      type: line.record === 'prompt' ? line.type : null,
      versions: line.versions,
      labels: JSON.stringify(line.labels),
      created_at: line.created_at,
      updated_at: line.updated_at,
    })),
  );
}

/** Inserts lines of versions and their references into the temporary tables. */
export async function stageVersions(transaction: Postgres, versions: readonly CheckedVersion[]) {
  if (versions.length === 0) return;
  await transaction('staged_versions').insert(versions.map(versionRow));
  const uses = versions.flatMap(({ line, references }) =>
    references.map(({ slug, pin }) => ({ ...ownerOf(line), version: line.version, used_slug: slug, pin })),
  );
  await transaction.batchInsert('staged_uses', uses, 1_000);
}

function versionRow({ number, line }: CheckedVersion) {
  const { record, slug: _, version, kind, author, content_hash, commit_message, created_at } = line;
  return {
    ...ownerOf(line),
    line: number,
    version,
    ...contentColumns(line),
    optimization_run_id: record === 'prompt_version' ? line.optimization_run_id : null,
    content_hash,
    commit_message,
    version_kind: kind,
    parent_version: line.parent_version,
    rolled_back_from: line.rolled_back_from,
    author_type: author.type,
    author_id: author.id,
    created_at,
  };
}

const ownerOf = (line: VersionLine) => ({ kind: line.record === 'part_version' ? 'part' : 'prompt', slug: line.slug });

function contentColumns(line: VersionLine): Readonly<Record<string, string | null>> {
  const content = contentOfLine(line);
  if (content === undefined) throw new Error('The line was not checked');
  const none = { messages: null, config: null, input_schema: null, template_hash: null };
  return 'part' in content
    ? { ...none, ...partKind.toColumns(content.part) }
    : promptKind.toColumns(content.prompt satisfies PromptContent);
}
