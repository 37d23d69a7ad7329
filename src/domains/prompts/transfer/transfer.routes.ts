import { once } from 'node:events';
import type { Response } from 'express';
import { z } from 'zod';
import { endpointsFor } from '../../../http/endpoint.ts';
import { booleanParam } from '../../../http/query.ts';
import { UnsupportedMediaTypeError } from '../../../lib/errors.ts';
import { FairLane } from '../../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../../lib/fair-lane-options.ts';
import { Pace, sharedThird } from '../../../lib/pace.ts';
import { limitedWorkspaceOf, type Principal, projectOf } from '../../auth/index.ts';
import { actingFor, projectParams, writing } from '../../versioned/index.ts';
import { exportLines } from './export-lines.ts';
import { countsOf, type ImportDeps, importLines, importMsMax } from './import-lines.ts';
import type { TransferLine } from './transfer-line.ts';

const { rawEndpoint } = endpointsFor<Principal>();
const path = '/api/projects/{project_id}/prompts';
const ndjson = 'application/x-ndjson';

/** Returns the endpoints that export and import prompts and parts. */
export function transferEndpoints(deps: ImportDeps) {
  return [exportEndpoint(deps), importEndpoint(deps)];
}

const writeBytesMin = 65_536;
/**
 * All workspaces share 8 running exports. A workspace has one running and 8 waiting; more is
 * refused with 429. With 64 waiting in all, more is refused with 503.
 */
const exporting = {
  name: 'exports',
  capacity: 8,
  perKey: 1,
  waitingPerKey: 8,
  waitingMax: 64,
  waitMsMax: requestWaitMsMax,
};
/**
 * A client that reads nothing for `drainMsMax` is disconnected. While others wait for a place, so is one that reads
 * nothing for `hurriedMs`, or for which the export has waited so long and a second more for each 64 KiB.
 */
const drainMsMax = 30_000;
const hurriedMs = 5_000;
const hurriedBytesPerMs = 64;
const lookMs = 500;
const exampleLines =
  '{"record":"prompt","slug":"support-answer","name":"Support answer","description":null,"tags":[],"labels":{"production":1},' +
  '"versions":1,"created_at":"2026-01-31T08:00:00.000Z","updated_at":"2026-01-31T08:00:00.000Z","type":"text"}\n' +
  '{"record":"prompt_version","slug":"support-answer","version":1, …}\n';

function exportEndpoint({ postgres }: ImportDeps) {
  const places = new FairLane(exporting);
  return rawEndpoint({
    operationId: 'exportPrompts',
    method: 'GET',
    path: `${path}/export`,
    summary: 'Export all parts and prompts of a project with all versions, as lines of JSON',
    description:
      'Parts come before prompts. An item comes before its versions. An export after an import of these lines gives the same lines.',
    tag: 'prompts',
    access: { scope: 'prompts:read' },
    rateClass: 'read',
    // An export lasts as long as its client reads. The lane here bounds the exports.
    lane: 'none',
    params: projectParams,
    responses: { 200: { description: 'The exported lines', contentType: ndjson, example: exampleLines } },
    problems: ['project_not_found', 'workspace_busy', 'server_busy'],
    handle: async (_req, res, { principal, signal, recheck }) => {
      const { projectId, workspaceId } = projectOf(principal);
      await places.run(
        workspaceId,
        () => {
          const pace = new Pace(sharedThird(workspaceId));
          const isWaitedFor = () => places.isFull;
          return writeLines(res, { signal, recheck, pace, isWaitedFor }, exportLines(postgres, projectId));
        },
        { waiter: { signal } },
      );
    },
  });
}

interface Writing {
  signal: AbortSignal;
  /** Throws when the caller may not read any more, which ends the response. */
  recheck: () => Promise<void>;
  pace: Pace;
  isWaitedFor: () => boolean;
}

async function writeLines(
  res: Response,
  { signal, recheck, pace, isWaitedFor }: Writing,
  lines: AsyncIterable<TransferLine>,
): Promise<void> {
  let pending = '';
  let [characters, waitedMs] = [0, 0];
  const drained = async () => {
    const startedAtMs = performance.now();
    const slow = new AbortController();
    const timer = setInterval(() => {
      const tookMs = performance.now() - startedAtMs;
      const isSlow = tookMs > hurriedMs || waitedMs + tookMs > hurriedMs + characters / hurriedBytesPerMs;
      if (tookMs > drainMsMax || (isSlow && isWaitedFor())) slow.abort();
    }, lookMs);
    await once(res, 'drain', { signal: AbortSignal.any([signal, slow.signal]) }).finally(() => clearInterval(timer));
    waitedMs += performance.now() - startedAtMs;
  };
  const write = async () => {
    if (!res.headersSent) res.setHeader('Content-Type', ndjson);
    const written = res.write(pending);
    characters += pending.length;
    pending = '';
    if (!written) await drained();
  };
  for await (const line of lines) {
    if (signal.aborted) return;
    await recheck();
    pending += `${JSON.stringify(line)}\n`;
    if (pending.length >= writeBytesMin) await write();
    await pace.rest();
  }
  if (!res.headersSent) res.setHeader('Content-Type', ndjson);
  res.end(pending);
}

const counts = z
  .object({ created: z.int(), updated: z.int(), unchanged: z.int(), versions: z.int() })
  .meta({ id: 'ImportCounts' });
const reportSchema = z
  .object({
    dry_run: z.boolean(),
    parts: counts,
    prompts: counts,
    conflicts: z.array(z.object({ line: z.int(), code: z.string(), message: z.string() })),
    errors: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })),
  })
  .meta({ id: 'ImportReport' });

/**
 * All workspaces share 64 imports that arrive, 8 that wait and 2 that run; a running import holds a
 * database connection, one that arrives only a file. A workspace has one import. A second one is refused with 429, and
 * one beyond these with 503.
 */
const arriving = { name: 'imports', capacity: 64, perKey: 1, waitingPerKey: 0, waitingMax: 0 };
const running = {
  name: 'imports',
  capacity: 2,
  perKey: 1,
  waitingPerKey: 1,
  waitingMax: 8,
  // Others may have an import that takes as long as one may.
  waitMsMax: importMsMax,
};
/** Nothing is sent while an import waits and runs. Other connections are closed after 60 s of silence. */
const silenceMsMax = running.waitMsMax + importMsMax + 30_000;

function importEndpoint(deps: ImportDeps) {
  const places = new FairLane(arriving);
  const lane = new FairLane(running);
  return rawEndpoint({
    ...writing,
    operationId: 'importPrompts',
    method: 'POST',
    path: `${path}/import`,
    summary: 'Import the lines of an export',
    description:
      'The import changes everything or nothing. It adds missing items, and the versions that come after the newest existing one. ' +
      'Existing items and versions do not change. A version that exists with different content is a conflict. `dry_run=true` ' +
      'reports the changes without making them.',
    tag: 'prompts',
    // An import lasts as long as its client sends. The lanes here bound the imports.
    lane: 'none',
    params: projectParams,
    query: z.strictObject({
      dry_run: booleanParam().default(false).meta({ description: 'Whether to report the changes without making them' }),
    }),
    reads: { [ndjson]: { example: exampleLines } },
    responses: { 200: { description: 'The changes that were made, or would be made', schema: reportSchema } },
    problems: [
      'project_not_found',
      'invalid_body',
      'conflict',
      'part_cycle',
      'body_too_large',
      'unsupported_media_type',
      'quota_exceeded',
      'workspace_busy',
      'server_busy',
    ],
    handle: async (req, res, call) => {
      requireNdjson(req.headers['content-type']);
      res.setTimeout(silenceMsMax);
      const dryRun = call.query.dry_run;
      const charge = (bytes: number) => deps.chargeWritten(limitedWorkspaceOf(call.principal), bytes);
      const acting = actingFor(call.principal, call.requestId, call);
      const { parts, prompts, conflicts, errors } = await places.run(acting.project.workspaceId, () =>
        importLines({ ...deps, lane }, { ...acting, dryRun, req, recheck: call.recheck, charge }),
      );
      const body = { dry_run: dryRun, parts: countsOf(parts), prompts: countsOf(prompts), conflicts, errors };
      res.status(200).json(body);
    },
  });
}

function requireNdjson(header: string | undefined): void {
  const type = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === ndjson || type === 'application/ndjson' || type === 'application/jsonl') return;
  throw new UnsupportedMediaTypeError(
    'unsupported_media_type',
    `Content-Type must be ${ndjson}; given ${JSON.stringify((header ?? 'none').slice(0, 80))}`,
  );
}
