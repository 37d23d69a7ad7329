import { once } from 'node:events';
import { z } from 'zod';
import { endpointsFor } from '../../../http/endpoint.ts';
import { booleanParam } from '../../../http/query.ts';
import { UnavailableError, UnsupportedMediaTypeError } from '../../../lib/errors.ts';
import { type Principal, projectOf } from '../../auth/index.ts';
import { actingFor, projectParams, writing } from '../../versioned/index.ts';
import { exportLines } from './export-lines.ts';
import { countsOf, type ImportDeps, importLines } from './import-lines.ts';

const { rawEndpoint } = endpointsFor<Principal>();
const path = '/api/projects/{project_id}/prompts';
const ndjson = 'application/x-ndjson';

export function transferEndpoints(deps: ImportDeps) {
  return [exportEndpoint(deps), importEndpoint(deps)];
}

const writeBytesMin = 65_536;
const exampleLines =
  '{"record":"prompt","slug":"support-answer","name":"Support answer","description":null,"tags":[],"labels":{"production":1},' +
  '"versions":1,"created_at":"2026-01-31T08:00:00.000Z","updated_at":"2026-01-31T08:00:00.000Z","type":"text"}\n' +
  '{"record":"prompt_version","slug":"support-answer","version":1, …}\n';

function exportEndpoint({ postgres }: ImportDeps) {
  return rawEndpoint({
    operationId: 'exportPrompts',
    method: 'GET',
    path: `${path}/export`,
    summary: 'Every part and prompt of a project with all versions, as lines of JSON',
    description:
      'Parts come first, and an item before its versions. Importing the lines elsewhere gives the same lines again.',
    tag: 'prompts',
    access: { scope: 'prompts:read' },
    rateClass: 'read',
    params: projectParams,
    responses: { 200: { description: 'The lines', contentType: ndjson, example: exampleLines } },
    problems: ['project_not_found'],
    handle: async (_req, res, { principal, signal }) => {
      let pending = '';
      const write = async () => {
        if (!res.headersSent) res.setHeader('Content-Type', ndjson);
        const written = res.write(pending);
        pending = '';
        if (!written) await once(res, 'drain', { signal });
      };
      for await (const line of exportLines(postgres, projectOf(principal).projectId)) {
        if (signal.aborted) return;
        pending += `${JSON.stringify(line)}\n`;
        if (pending.length >= writeBytesMin) await write();
      }
      if (!res.headersSent) res.setHeader('Content-Type', ndjson);
      res.end(pending);
    },
  });
}

const counts = z.object({ created: z.int(), updated: z.int(), unchanged: z.int(), versions: z.int() });
const reportSchema = z.object({
  dry_run: z.boolean(),
  parts: counts,
  prompts: counts,
  conflicts: z.array(z.object({ line: z.int(), code: z.string(), message: z.string() })),
  errors: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })),
});

/** Each holds a connection to the database for as long as its body takes. */
const importsMax = 2;

function importEndpoint(deps: ImportDeps) {
  const inTurn = atMost(importsMax);
  return rawEndpoint({
    ...writing,
    operationId: 'importPrompts',
    method: 'POST',
    path: `${path}/import`,
    summary: 'Take in what an export gave',
    description:
      'All or nothing. What is missing is added: items, and versions behind the newest there is. What is there already stays; a ' +
      'version that is there with another content is a conflict. `dry_run=true` says what would happen.',
    tag: 'prompts',
    params: projectParams,
    query: z.strictObject({
      dry_run: booleanParam().default(false).meta({ description: 'Says what would happen and does nothing' }),
    }),
    reads: { [ndjson]: { example: exampleLines } },
    responses: { 200: { description: 'What was done, or would be', schema: reportSchema } },
    problems: [
      'project_not_found',
      'invalid_body',
      'conflict',
      'part_cycle',
      'body_too_large',
      'unsupported_media_type',
    ],
    handle: async (req, res, { principal, requestId, query }) => {
      requireNdjson(req.headers['content-type']);
      const dryRun = query.dry_run;
      const { parts, prompts, conflicts, errors } = await inTurn(() =>
        importLines(deps, { ...actingFor(principal, requestId), dryRun, req }),
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

/** Runs at most `runningMax` at once. Throws UnavailableError for more. */
function atMost(runningMax: number) {
  let running = 0;
  return async <T>(run: () => Promise<T>): Promise<T> => {
    if (running >= runningMax) {
      throw new UnavailableError('dependency_unavailable', `${runningMax} imports are running here; try again later`, {
        retryAfterS: 5,
      });
    }
    running += 1;
    try {
      return await run();
    } finally {
      running -= 1;
    }
  };
}
