import type { Knex } from 'knex';

/** What projects may spend, which thresholds were reached, and what runs have reserved. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table budgets (
      project_id text primary key references projects (id) on delete cascade,
      workspace_id text not null references workspaces (id) on delete cascade,
      version integer not null,
      amount_nano_usd bigint not null check (amount_nano_usd > 0),
      period text not null check (period in ('daily', 'weekly', 'monthly', 'total')),
      timezone text not null,
      thresholds double precision[] not null,
      enforcement text not null check (enforcement in ('none', 'block_optimize', 'block_render')),
      scopes jsonb not null,
      -- null notifies every webhook that wants the event
      webhook_ids text[],
      enabled boolean not null,
      updated_at timestamptz not null,
      -- the version that a worker checked last, and when
      checked_version integer,
      checked_at timestamptz
    );
    create index budgets_enabled on budgets (project_id) where enabled;
    -- a check changes nothing that is cached
    create trigger note_change after insert or delete on budgets for each row
      execute function note_change('budget', 'project_id');
    create trigger note_update after update on budgets for each row
      when (old.version is distinct from new.version)
      execute function note_change('budget', 'project_id');

    create table budget_alerts (
      project_id text not null references projects (id) on delete cascade,
      budget_version integer not null,
      -- the epoch for a budget without periods
      period_start timestamptz not null,
      -- by:value, or '' for the whole budget
      scope text not null,
      threshold double precision not null,
      fired_at timestamptz not null default clock_timestamp(),
      primary key (project_id, budget_version, period_start, scope, threshold)
    );

    create table budget_reservations (
      id text primary key,
      project_id text not null references projects (id) on delete cascade,
      amount_nano_usd bigint not null check (amount_nano_usd >= 0),
      expires_at timestamptz not null
    );
    create index budget_reservations_by_project on budget_reservations (project_id, expires_at);

    create table quota_alerts (
      workspace_id text not null references workspaces (id) on delete cascade,
      resource text not null,
      period_start timestamptz not null,
      threshold double precision not null,
      fired_at timestamptz not null default clock_timestamp(),
      primary key (workspace_id, resource, period_start, threshold)
    );

    -- the only webhooks that get the event; null is every webhook that wants it
    alter table events add column webhook_ids text[];
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table events drop column webhook_ids;
    drop table quota_alerts, budget_reservations, budget_alerts, budgets;
  `);
}
