import { randomUUID } from 'node:crypto';
import type { Begun, IdempotencyStore, IdempotentRequest, StoredAnswer } from '../../http/idempotent-request.ts';
import { UnavailableError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction, outcomeOf } from '../../stores/postgres/transaction.ts';

/**
 * Creates a store that keeps answers in Postgres for 24 h by the clock of Postgres. Its unique
 * index makes `begin` exact across processes.
 */
export function createIdempotencyStore(postgres: Postgres): IdempotencyStore {
  return {
    begin: (request) => begin(postgres, request),
    finish: (request, lease, answer) => finish(postgres, request, lease, answer),
    postpone: (request, lease) => mark(postgres, request, { lease, status: postponed }),
    settle: (request, lease, transactionId) => settle(postgres, request, { lease, transactionId }),
    unbegin: (request, transactionId) => unbegin(postgres, request, transactionId),
    abandon: (request, lease) => abandon(postgres, request, lease),
  };
}

interface Row {
  request_digest: Buffer;
  age_ms: string;
  status: number | null;
  headers: Record<string, string>;
  content_type: string | null;
  content: Buffer | null;
  content_dropped: boolean;
}

/**
 * Status values without an answer: the request may run again (`postponed`), or it took effect and must not (`lost`).
 * Answers with these status codes are never stored.
 */
const [postponed, lost] = [503, 500];

/**
 * In a transaction, so that nothing begins whose request was given up because Postgres froze: Postgres then runs the
 * statement later, but gets no commit.
 */
function begin(postgres: Postgres, request: IdempotentRequest): Promise<Begun> {
  return inTransaction(postgres, (transaction) => beginOrLook(transaction, request));
}

async function beginOrLook(postgres: Postgres, request: IdempotentRequest): Promise<Begun> {
  const { tenant, operationId, key, digest } = request;
  const inserted = await postgres.raw<{ rows: { lease: string; isAgain: boolean }[] }>(
    `insert into idempotency_keys as held (tenant, operation_id, key, request_digest, lease)
     values (:tenant, :operationId, :key, :digest, :newLease)
     on conflict (tenant, operation_id, key) do update
       set request_digest = excluded.request_digest,
           lease = case when held.expires_at <= now() then excluded.lease else held.lease end, started_at = excluded.started_at,
           expires_at = excluded.expires_at, status = null, headers = null, content_type = null, content = null,
           content_dropped = false
       where held.expires_at <= now() or (held.status = :postponed and held.request_digest = excluded.request_digest)
     returning lease, lease <> :newLease as "isAgain"`,
    { tenant, operationId, key, digest, postponed, newLease: randomUUID() },
  );
  const [row] = inserted.rows;
  if (row) return { outcome: 'begun', ...row };
  return look(postgres, request);
}

async function look(postgres: Postgres, { tenant, operationId, key, digest }: IdempotentRequest): Promise<Begun> {
  const row = await postgres('idempotency_keys')
    .where({ tenant, operation_id: operationId, key })
    .first<Row | undefined>(
      'request_digest',
      postgres.raw('extract(epoch from clock_timestamp() - started_at) * 1000 as age_ms'),
      'status',
      'headers',
      'content_type',
      'content',
      'content_dropped',
    );
  // The row was abandoned after the insert. The caller asks again, as it would have done a moment
  // earlier.
  if (row === undefined) return { outcome: 'unfinished', ageMs: 0 };
  if (!row.request_digest.equals(digest)) return { outcome: 'reused' };
  const ageMs = Number(row.age_ms);
  if (row.status === null || row.status === postponed) return { outcome: 'unfinished', ageMs };
  if (row.status === lost) return { outcome: 'lost', ageMs };
  return { outcome: 'answered', answer: toAnswer(row, row.status) };
}

function toAnswer(row: Row, status: number): StoredAnswer {
  return {
    status,
    headers: row.headers,
    ...(row.content_type === null ? {} : { contentType: row.content_type }),
    ...(row.content_dropped ? { content: null } : row.content === null ? {} : { content: row.content }),
  };
}

/**
 * Number of expired rows that each stored answer deletes. It is more than one, so that they cannot
 * accumulate.
 */
const prunedPerFinish = 5;

async function finish(
  postgres: Postgres,
  { tenant, operationId, key }: IdempotentRequest,
  lease: string,
  { status, headers, contentType, content }: StoredAnswer,
): Promise<void> {
  await postgres('idempotency_keys')
    .where({ tenant, operation_id: operationId, key, lease })
    .update({
      status,
      headers: JSON.stringify(headers),
      content_type: contentType ?? null,
      content: content ?? null,
      content_dropped: content === null,
    });
  await postgres.raw(
    `delete from idempotency_keys where (tenant, operation_id, key) in (
       select tenant, operation_id, key from idempotency_keys
       where expires_at <= now() order by expires_at limit ? for update skip locked)`,
    [prunedPerFinish],
  );
}

async function mark(
  postgres: Postgres,
  { tenant, operationId, key }: IdempotentRequest,
  { lease, status }: { lease: string; status: number },
): Promise<void> {
  await postgres('idempotency_keys')
    .where({ tenant, operation_id: operationId, key, lease })
    .update({ status, headers: '{}' });
}

async function settle(
  postgres: Postgres,
  request: IdempotentRequest,
  { lease, transactionId }: { lease: string; transactionId: string | undefined },
): Promise<void> {
  const isStored = transactionId !== undefined && (await isCommitted(postgres, transactionId));
  await mark(postgres, request, { lease, status: isStored ? lost : postponed });
}

/** Each row has the transaction that wrote it in `xmin`: no later beginning is touched. */
async function unbegin(
  postgres: Postgres,
  { tenant, operationId, key }: IdempotentRequest,
  transactionId: string,
): Promise<void> {
  if (!(await isCommitted(postgres, transactionId))) return;
  await postgres('idempotency_keys')
    .where({ tenant, operation_id: operationId, key })
    .whereRaw('xmin = ?::xid8::xid', [transactionId])
    .update({ status: postponed, headers: '{}' });
}

async function isCommitted(postgres: Postgres, transactionId: string): Promise<boolean> {
  const outcome = await outcomeOf(postgres, transactionId);
  if (outcome === 'in progress') {
    throw new UnavailableError('postgres_unavailable', `Transaction ${transactionId} has not ended`);
  }
  return outcome === 'committed';
}

async function abandon(
  postgres: Postgres,
  { tenant, operationId, key }: IdempotentRequest,
  lease: string,
): Promise<void> {
  await postgres('idempotency_keys').where({ tenant, operation_id: operationId, key, lease }).delete();
}
