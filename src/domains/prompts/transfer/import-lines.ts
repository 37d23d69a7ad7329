import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ConflictError, type Fault, InvalidError } from '../../../lib/errors.ts';
import type { FairLane } from '../../../lib/fair-lane.ts';
import {
  allowPauses,
  idleInTransactionMsMax,
  type Postgres,
  type Transaction,
} from '../../../stores/postgres/client.ts';
import type { Invalidations } from '../../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../../stores/postgres/transaction.ts';
import { recordAudit } from '../../audit/index.ts';
import { checkImportedReferences, lockPartGraph, partKind } from '../../parts/index.ts';
import type { TemplateThreads } from '../../templates/index.ts';
import { type Acting, type ChangeHook, isSlugTaken } from '../../versioned/index.ts';
import type { WorkspaceScope } from '../../workspaces/index.ts';
import { promptKind } from '../prompt-content.ts';
import { Deadline } from './deadline.ts';
import { readImportedChanges } from './imported-changes-store.ts';
import { type Conflict, findConflicts, type Merged, matchStaged, mergeStaged } from './merge-store.ts';
import { type LineEncoding, lineEncodingOf } from './read-lines.ts';
import { spoolBody } from './spool-body.ts';
import { type StageDeps, stageLines } from './stage-lines.ts';
import { createStaging } from './staging-store.ts';

/** Bytes of the request body as sent. `stage-lines.ts` limits the inflated bytes and the lines. */
const sentBytesMax = 128 * 1024 * 1024;
/**
 * Milliseconds for reading, checking and storing, after the request body has arrived. A gigabyte of
 * prompts takes longer and must be split into several imports.
 */
export const importMsMax = 120_000;
/** Items that the audit log names. */
const namedMax = 200;

export interface ImportDeps {
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  threads: TemplateThreads;
  /** Counts bytes that are written. @throws ExhaustedError when they are used up */
  chargeWritten: (workspace: WorkspaceScope | undefined, bytes: number) => Promise<void>;
  changed?: ChangeHook | undefined;
}

interface ImportInput extends Acting {
  dryRun: boolean;
  /** Throws when the caller may not import any more: after the body has arrived, and before the commit. */
  recheck: () => Promise<void>;
  /** Counts the bytes of the lines, before anything of them is stored. */
  charge: (bytes: number) => Promise<void>;
}

export interface ImportReport {
  parts: Merged;
  prompts: Merged;
  conflicts: readonly Conflict[];
  /** Lines that are invalid by themselves. */
  errors: readonly Fault[];
}

/**
 * Imports an export in one transaction. Missing items and versions are added, existing ones stay,
 * and a line that contradicts the stored data rolls everything back, as does a caller who leaves. A dry run only reports. The
 * transaction begins after the request body has arrived and `lane` grants a turn.
 * @throws InvalidError with line numbers, ConflictError, TooLargeError, MalformedError
 * @throws UnsupportedMediaTypeError, RateLimitedError, UnavailableError
 * @throws the errors of `recheck` and `charge`
 */
export async function importLines(
  deps: ImportDeps & { lane: FairLane },
  input: ImportInput & { req: IncomingMessage },
): Promise<ImportReport> {
  const { req, project, waiter } = input;
  const encoding = lineEncodingOf(req.headers['content-encoding']);
  const file = await spoolBody(req, sentBytesMax);
  try {
    await input.recheck();
    const report = await deps.lane.run(project.workspaceId, () => importFile(deps, { ...input, file, encoding }), {
      waiter,
    });
    if (input.dryRun) return report;
    await deps.invalidations.publish('part', idsOf(report.parts.changed));
    await deps.invalidations.publish('prompt', idsOf(report.prompts.changed));
    return report;
  } finally {
    await file.close();
  }
}

const idsOf = (changed: readonly { id: string }[]) => changed.map(({ id }) => id);

async function importFile(
  { postgres, threads, changed }: ImportDeps,
  { dryRun, recheck, charge, file, encoding, ...acting }: ImportInput & { file: FileHandle; encoding: LineEncoding },
): Promise<ImportReport> {
  const deadline = new Deadline(importMsMax, acting.waiter);
  const staging: StageDeps = { threads: threads.of(acting.project.workspaceId, acting.waiter), deadline };
  try {
    return await inTransaction(postgres, async (transaction) => {
      await createStaging(transaction, { checkingMsMax: importMsMax });
      const { faults: errors, bytes } = await stageLines(staging, transaction, { file, encoding });
      if (!dryRun && errors.length === 0) await charge(bytes);
      const done = errors.length > 0 ? reportOf(errors) : await merge(transaction, acting, { deadline, changed });
      await recheck();
      if (!dryRun) refuse(done);
      if (dryRun || errors.length > 0) throw new UndoneImport(done);
      return done;
    });
  } catch (error) {
    if (error instanceof UndoneImport) return error.report;
    throw isSlugTaken(error) ? createdMeanwhile(error) : error;
  }
}

/** Returns the error for a prompt that was created after the lines were compared with the stored items. */
function createdMeanwhile(cause: unknown): ConflictError {
  const message =
    'While the import ran, another request created a prompt with a slug of the import. Nothing was imported. Send the import again';
  return new ConflictError('conflict', message, { cause });
}

/** Rolls back a transaction and carries the report to return. */
class UndoneImport extends Error {
  readonly report: ImportReport;

  constructor(report: ImportReport) {
    super('The import must be undone');
    this.report = report;
  }
}

/**
 * Merges the staged lines. Locks prompts before parts, the order that all transactions use, so that
 * no deadlock occurs.
 */
async function merge(
  transaction: Transaction,
  acting: Acting,
  { deadline, changed }: { deadline: Deadline; changed: ChangeHook | undefined },
): Promise<ImportReport> {
  const { project, actor } = acting;
  const { projectId, workspaceId } = project;
  await allowPauses(transaction, idleInTransactionMsMax);
  await matchStaged(transaction, promptKind, projectId);
  await lockPartGraph(transaction, projectId, 'change');
  await matchStaged(transaction, partKind, projectId);
  const conflicts = [
    ...(await findConflicts(transaction, partKind, projectId)),
    ...(await findConflicts(transaction, promptKind, projectId)),
  ];
  if (conflicts.length > 0) return { ...reportOf([]), conflicts };
  const parts = await mergeStaged(transaction, partKind, projectId, actor);
  const prompts = await mergeStaged(transaction, promptKind, projectId, actor);
  const touched = { parts: parts.changed.map(({ id }) => id), prompts: prompts.changed.map(({ id }) => id) };
  await checkImportedReferences(transaction, projectId, touched, () => deadline.check());
  for await (const changes of readImportedChanges(transaction, projectId)) {
    await changed?.(transaction, acting, changes);
    deadline.check();
  }
  await recordAudit(transaction, {
    workspaceId,
    projectId,
    actor,
    action: 'prompts.imported',
    targetType: 'project',
    targetId: projectId,
    details: { parts: auditOf(parts), prompts: auditOf(prompts) },
  });
  return { parts, prompts, conflicts, errors: [] };
}

/** Returns the counts of a merge without its items. */
export function countsOf({ created, updated, unchanged, versions }: Merged) {
  return { created, updated, unchanged, versions };
}

/** Returns the imported items for the audit log. `not_named` counts the items beyond `namedMax`. */
function auditOf(merged: Merged) {
  const named = merged.changed.slice(0, namedMax);
  return { ...countsOf(merged), changed: named, not_named: merged.changed.length - named.length };
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
