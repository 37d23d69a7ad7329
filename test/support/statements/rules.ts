/** A statement as an engine received it, with its bound values. */
export interface Heard {
  engine: 'postgres' | 'clickhouse';
  text: string;
  values: string;
}

/** Tables whose rows belong to a project or workspace. */
export const tenantTables: Readonly<Record<Heard['engine'], readonly string[]>> = {
  postgres: [
    ...[
      'workspaces',
      'projects',
      'memberships',
      'api_keys',
      'audit_log',
      'idempotency_keys',
      'model_prices',
      'feedback',
      'quarantined_bodies',
      'events',
      'webhooks',
      'webhook_deliveries',
      'webhook_attempts',
      'budgets',
      'budget_alerts',
      'budget_reservations',
      'quota_alerts',
    ],
    ...['prompts', 'prompt_versions', 'prompt_labels', 'prompt_label_history', 'prompt_version_parts'],
    ...['parts', 'part_versions', 'part_labels', 'part_label_history', 'part_uses', 'part_edges'],
    ...['optimization_runs', 'optimization_rows', 'optimization_candidates', 'optimization_evaluations'],
    ...['optimization_runs_with_deleted', 'optimization_calls', 'optimization_events'],
  ],
  clickhouse: ['spans', 'executions', 'execution_versions', 'execution_facts'],
};

/** A statement that may use tables of tenants without the id of a tenant, and the reason. */
export interface Exception {
  engine: Heard['engine'];
  statement: RegExp;
  why: string;
}

/** Statements that do not run for one tenant, or that determine the tenant. */
export const exceptions: readonly Exception[] = [
  {
    engine: 'postgres',
    statement: /^select current_setting\('transaction_read_only'\)/,
    why: 'health: it asks whether the table can be read, and answers nothing of it',
  },
  {
    engine: 'clickhouse',
    statement: /^INSERT INTO \w+/,
    why: 'the rows, which are no bound values, name their project themselves',
  },
  {
    engine: 'postgres',
    statement: /where "api_keys"\."lookup_id" = \$1/,
    why: 'sign-in: the key says which project it is of',
  },
  { engine: 'postgres', statement: /where "users"\."subject" = \$1/, why: 'sign-in: the memberships of one user' },
  {
    engine: 'postgres',
    statement: /from "workspaces" where "owner_user_id" = \$1/,
    why: 'sign-in: the personal workspace of one user',
  },
  {
    engine: 'postgres',
    statement: /^update "api_keys" set "last_used_at" = CURRENT_TIMESTAMP where "id" in/,
    why: 'keys of many projects that were used',
  },
  {
    engine: 'postgres',
    statement: /^insert into "audit_log" /,
    why: 'users and failed events of identity providers are in no workspace',
  },
  {
    engine: 'postgres',
    statement: /from "audit_log" where "workspace_id" is null/,
    why: 'for the operator: the entries that belong to no workspace',
  },
  {
    engine: 'postgres',
    statement: /"workspaces" where "external_org_id" = \$1/,
    why: 'an organization of an identity provider: which workspace is it?',
  },
  {
    engine: 'postgres',
    statement: /"quarantined_bodies"/,
    why: 'for the operator, whose list has all projects, by the id of the body',
  },
  {
    engine: 'postgres',
    statement:
      /^delete from idempotency_keys where \(tenant, operation_id, key\) in \(\s*select .* where expires_at <= now\(\)/s,
    why: 'maintenance: what has expired',
  },
  {
    engine: 'postgres',
    statement: /where 1 = \$1/,
    why: 'an empty list of ids, of which knex makes a condition that nothing meets',
  },
  {
    engine: 'postgres',
    statement: /^select "id" from "workspaces" where "deleted_at" is null and "id" > \$1 order by "id" asc limit/,
    why: 'maintenance: the usage of every workspace is settled, a page at a time',
  },
  {
    engine: 'postgres',
    statement: /from "workspaces" where "id" = \$1 and "deleted_at" is null|where "projects"\."id" = \$1/,
    why: 'the id that a caller has written in a path, which may be no id at all',
  },
  {
    engine: 'clickhouse',
    statement: /^WITH received AS \(SELECT project_id, trace_id/,
    why: 'maintenance: the spans of all projects are held against their executions',
  },
  {
    engine: 'postgres',
    statement:
      /^select "id" from "workspaces" where "id" in \(select "workspace_id" from "memberships" where "user_id" = \$1\)/,
    why: 'an identity provider: the workspaces of one user, who leaves them',
  },
  {
    engine: 'postgres',
    statement: /^\s*with recursive (?:waiting|endpoint) \(id\) as/,
    why: 'a worker: new events and due deliveries of all workspaces, each workspace in its turn',
  },
  {
    engine: 'postgres',
    statement:
      /^update "events" set "fanned_out_at"|^delete from "events"|^select "id" from "events" where "created_at"|^delete from "webhook_deliveries" where "id" in \(select "id" from "webhook_deliveries" where "event_id"|^select "id", "project_id" from "webhooks" where "deleted_at" is not null|^update "webhook_deliveries" set "status" = \$1, "lease"/,
    why: 'a worker: events whose deliveries were created, what has expired, and webhooks that are marked as deleted',
  },
  {
    engine: 'postgres',
    statement: /as some_pending\) as count/,
    why: 'metrics: deliveries of all workspaces, counted',
  },
  {
    engine: 'postgres',
    statement: /from "budgets" where "enabled" = \$1|^update budgets set checked_at/,
    why: 'a worker: the budgets of all projects are checked, a page at a time',
  },
  {
    engine: 'postgres',
    statement: /^with open as \(\s*select .* from optimization_runs where state in/s,
    why: 'a worker: queued and lost runs of all workspaces, each workspace in its turn',
  },
  {
    engine: 'postgres',
    statement: /^select "id", "project_id" from "optimization_runs_with_deleted" where "deleted_at" is not null/,
    why: 'a worker: runs that are marked as deleted',
  },
  { engine: 'clickhouse', statement: /^OPTIMIZE TABLE spans PARTITION ID/, why: 'maintenance: data parts are merged' },
];
