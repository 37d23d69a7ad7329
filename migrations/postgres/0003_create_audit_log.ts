import type { Knex } from 'knex';

/** Security-relevant acts. The transaction of an act writes its entry. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table audit_log (
      id text primary key,
      workspace_id text references workspaces (id),
      project_id text references projects (id),
      actor_type text not null check (actor_type in ('user', 'api_key', 'admin', 'identity_provider', 'system')),
      actor_id text,
      action text not null,
      target_type text not null,
      target_id text not null,
      details jsonb not null default '{}',
      request_id text,
      at timestamptz not null default now()
    );
    create index audit_log_by_workspace on audit_log (workspace_id, at desc, id desc);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table audit_log;');
}
