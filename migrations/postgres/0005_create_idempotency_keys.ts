import type { Knex } from 'knex';

/**
 * Answers kept for `Idempotency-Key`. A row without a status belongs to a request that runs, or
 * that died with its outcome unknown.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table idempotency_keys (
      -- project or workspace
      tenant text not null,
      operation_id text not null,
      key text not null check (length(key) between 1 and 255),
      request_digest bytea not null check (length(request_digest) = 32),
      -- of the request that may finish the row
      lease uuid not null default gen_random_uuid(),
      started_at timestamptz not null default now(),
      expires_at timestamptz not null default now() + interval '24 hours',
      status smallint,
      headers jsonb,
      content_type text,
      content bytea,
      content_dropped boolean not null default false,
      primary key (tenant, operation_id, key)
    );
    create index idempotency_keys_by_expiry on idempotency_keys (expires_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table idempotency_keys;');
}
