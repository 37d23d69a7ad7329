import type { IncomingMessage } from 'node:http';
import { ConflictError, type Fault, InvalidError } from '../../../lib/errors.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { runPostgres } from '../../../stores/postgres/errors.ts';
import type { Invalidations } from '../../../stores/postgres/invalidations.ts';
import { recordAudit } from '../../audit/index.ts';
import { checkImportedReferences, lockPartGraph, partKind, referencesOf } from '../../parts/index.ts';
import { parseTemplate, type TemplateThreads } from '../../templates/index.ts';
import type { Acting, Reference } from '../../versioned/index.ts';
import { checkPromptContent } from '../prompt-collection.ts';
import { promptKind } from '../prompt-content.ts';
import { faultOf, LineOrder, parseLine, requireHash } from './check-lines.ts';
import { type Conflict, findConflicts, type Merged, matchStaged, mergeStaged } from './merge-store.ts';
import { type NumberedLine, readLines } from './read-lines.ts';
import { type CheckedVersion, createStaging, stageItems, stageVersions } from './staging-store.ts';
import type { ItemLine, VersionLine } from './transfer-line.ts';

const bounds = { bytesMax: 512 * 1024 * 1024, lineBytesMax: 4 * 1024 * 1024 };
const faultsMax = 100;
/** Staged in one statement: this many lines, or what goes over this many bytes. */
const batchLines = 200;
const batchBytesMax = 1024 * 1024;

export interface ImportDeps {
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  threads: TemplateThreads;
}

export interface ImportReport {
  parts: Merged;
  prompts: Merged;
  conflicts: readonly Conflict[];
  /** Lines that are wrong by themselves. */
  errors: readonly Fault[];
}

/**
 * Takes in an export in one transaction: what is missing is added, what is there stays, and a line that contradicts what is there
 * undoes everything. A dry run says what would happen. Throws InvalidError naming lines, ConflictError, TooLargeError, MalformedError.
 */
export async function importLines(
  deps: ImportDeps,
  { dryRun, req, ...acting }: Acting & { dryRun: boolean; req: IncomingMessage },
): Promise<ImportReport> {
  const { report } = await runPostgres(async () => {
    const transaction = await deps.postgres.transaction();
    try {
      await createStaging(transaction);
      const errors = await stageLines(deps, transaction, req);
      const done = errors.length > 0 ? reportOf(errors) : await merge(transaction, acting);
      if (!dryRun) refuse(done);
      await (dryRun || errors.length > 0 ? transaction.rollback() : transaction.commit());
      return { report: done };
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  });
  if (dryRun) return report;
  for (const id of report.parts.changed) await deps.invalidations.publish('part', id);
  for (const id of report.prompts.changed) await deps.invalidations.publish('prompt', id);
  return report;
}

/** Reads, checks and stages every line; answers what is wrong, up to a bound. */
async function stageLines(deps: ImportDeps, transaction: Postgres, req: IncomingMessage): Promise<Fault[]> {
  const order = new LineOrder();
  const faults: Fault[] = [];
  let items: { number: number; line: ItemLine }[] = [];
  let versions: CheckedVersion[] = [];
  let bytes = 0;
  let number = 0;
  const flush = async () => {
    if (faults.length === 0) {
      await stageItems(transaction, items);
      await stageVersions(transaction, versions);
    }
    items = [];
    versions = [];
    bytes = 0;
  };
  for await (const each of readLines(req, bounds)) {
    number = each.number;
    try {
      const checked = await checkLine(deps.threads, order, each);
      if ('references' in checked) versions.push(checked);
      else items.push(checked);
    } catch (error) {
      faults.push(faultOf(each.number, error));
      if (faults.length >= faultsMax) return faults;
    }
    bytes += each.bytes.length;
    if (items.length + versions.length >= batchLines || bytes > batchBytesMax) await flush();
  }
  try {
    order.end();
  } catch (error) {
    faults.push(faultOf(number + 1, error));
  }
  await flush();
  return faults;
}

async function checkLine(
  threads: TemplateThreads,
  order: LineOrder,
  { number, bytes }: NumberedLine,
): Promise<{ number: number; line: ItemLine } | CheckedVersion> {
  const line = parseLine(bytes);
  order.take(line);
  if ('labels' in line) return { number, line };
  return { number, line, references: await checkVersion(threads, line) };
}

async function checkVersion(threads: TemplateThreads, line: VersionLine): Promise<readonly Reference[]> {
  const content = requireHash(line);
  if ('prompt' in content) return checkPromptContent(threads, content.prompt);
  const { templateFormat, template } = content.part;
  return referencesOf((await parseTemplate(threads, templateFormat, template)).parts);
}

/** Prompts before parts, as everybody locks them. */
async function merge(transaction: Postgres, { project, actor }: Acting): Promise<ImportReport> {
  const { projectId, workspaceId } = project;
  await matchStaged(transaction, promptKind, projectId);
  await lockPartGraph(transaction, projectId, 'change');
  await matchStaged(transaction, partKind, projectId);
  const conflicts = [
    ...(await findConflicts(transaction, partKind)),
    ...(await findConflicts(transaction, promptKind)),
  ];
  if (conflicts.length > 0) return { ...reportOf([]), conflicts };
  const parts = await mergeStaged(transaction, partKind, projectId, actor);
  const prompts = await mergeStaged(transaction, promptKind, projectId, actor);
  await checkImportedReferences(transaction, projectId, { parts: parts.changed, prompts: prompts.changed });
  await recordAudit(transaction, {
    workspaceId,
    projectId,
    actor,
    action: 'prompts.imported',
    targetType: 'project',
    targetId: projectId,
    details: { parts: countsOf(parts), prompts: countsOf(prompts) },
  });
  return { parts, prompts, conflicts, errors: [] };
}

export function countsOf({ created, updated, unchanged, versions }: Merged) {
  return { created, updated, unchanged, versions };
}

function reportOf(errors: readonly Fault[]): ImportReport {
  const nothing = { created: 0, updated: 0, unchanged: 0, versions: 0, changed: [] };
  return { parts: nothing, prompts: nothing, conflicts: [], errors };
}

function refuse({ errors, conflicts }: ImportReport): void {
  const [wrong] = errors;
  if (wrong !== undefined) throw new InvalidError('invalid_body', `${wrong.path}: ${wrong.message}`, { errors });
  const [conflict] = conflicts;
  if (conflict === undefined) return;
  throw new ConflictError('conflict', `line ${conflict.line}: ${conflict.message}; nothing was imported`, {
    errors: conflicts.map(({ line, code, message }) => ({ path: `line ${line}`, code, message })),
  });
}
