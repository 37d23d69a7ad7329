import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import { MalformedError } from '../../lib/errors.ts';
import { isoFromUnixNano, unixNanoFromDate } from '../../lib/time.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { KnownPrompts } from '../prompts/index.ts';
import { listExecutions } from './execution-queries.ts';
import { executionToWire } from './executions.schema.ts';
import type { SpanStatus } from './light-span.ts';
import { resolveExecutionPrompts } from './resolve-prompts.ts';

const defaultWindowMs = 7 * 24 * 60 * 60_000;

export interface ListExecutionsInput {
  projectId: string;
  from?: string | undefined;
  to?: string | undefined;
  status?: SpanStatus | undefined;
  cursor?: string | undefined;
  limit: number;
}

/** The window of the first page travels in the cursor, so that a walk sees one window however long it takes. */
const position = z.tuple([z.iso.datetime(), z.iso.datetime(), z.string().regex(/^\d{1,20}$/), z.string().length(32)]);

/** One page of executions and the window it is of. Throws MalformedError for an empty window or a foreign cursor. */
export async function listExecutionsPage(
  deps: { clickhouse: ClickHouse; knownPrompts: KnownPrompts; cursorSecret: string },
  input: ListExecutionsInput,
) {
  const { projectId, from, to, status } = input;
  const fingerprint = fingerprintOf({ list: 'executions', projectId, from, to, status });
  const decoded =
    input.cursor === undefined ? undefined : decodeCursor(deps.cursorSecret, fingerprint, input.cursor, position);
  const window = decoded ? { from: new Date(decoded[0]), to: new Date(decoded[1]) } : windowOf(from, to);
  const stored = await listExecutions(deps.clickhouse, {
    projectId,
    fromUnixNano: unixNanoFromDate(window.from),
    toUnixNano: unixNanoFromDate(window.to),
    status,
    after: decoded ? { startUnixNano: decoded[2], traceId: decoded[3] } : undefined,
    limit: input.limit + 1,
  });
  const rows = await resolveExecutionPrompts(deps.knownPrompts, projectId, stored);
  const wireWindow = {
    from: isoFromUnixNano(unixNanoFromDate(window.from)),
    to: isoFromUnixNano(unixNanoFromDate(window.to)),
  };
  const page = toPage(rows, input.limit, executionToWire, (row) =>
    encodeCursor(deps.cursorSecret, fingerprint, [
      wireWindow.from,
      wireWindow.to,
      row.startUnixNano.toString(),
      row.traceId,
    ]),
  );
  return { ...page, window: wireWindow };
}

function windowOf(from: string | undefined, to: string | undefined): { from: Date; to: Date } {
  const end = to === undefined ? new Date() : new Date(to);
  const start = from === undefined ? new Date(end.getTime() - defaultWindowMs) : new Date(from);
  if (start >= end) {
    throw new MalformedError(
      'invalid_parameter',
      `from (${start.toISOString()}) must be before to (${end.toISOString()}).`,
      { errors: [{ path: 'from', code: 'invalid_parameter', message: 'must be before to' }] },
    );
  }
  return { from: start, to: end };
}
