import type { Knex } from 'knex';

/** API keys of projects. The table keeps keyed digests of the secrets, never the secrets. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table api_keys (
      id text primary key,
      project_id text not null references projects (id),
      name text not null check (length(name) between 1 and 200),
      lookup_id text not null unique,
      secret_digest bytea not null check (length(secret_digest) = 32),
      last4 text not null,
      scopes text[] not null,
      expires_at timestamptz,
      revoked_at timestamptz,
      last_used_at timestamptz,
      created_at timestamptz not null default now()
    );
    create index api_keys_by_project on api_keys (project_id, created_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table api_keys;');
}
