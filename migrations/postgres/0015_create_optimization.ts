import type { Knex } from 'knex';

/**
 * Runs that optimize a prompt: their state and ledger, rows, candidates, evaluations, the journal of
 * their calls, and what they report. A worker writes only while it holds the lease of the run.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table optimization_runs (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      prompt_id text not null,
      base_version integer not null,
      algorithm text not null check (algorithm in ('reflective', 'meta_prompt', 'few_shot')),
      -- json keeps the order of properties
      config json not null,
      -- what the API needs of a run besides the search: apply, dataset, holdout_fraction
      options json not null,
      plan json not null,
      state text not null default 'queued'
        check (state in ('queued', 'running', 'cancelling', 'completed', 'failed', 'cancelled')),
      outcome text check (outcome in ('improved', 'no_improvement', 'inconclusive', 'already_optimal')),
      finish_reason text,
      error json,
      warnings json not null default '[]',
      decision json,
      progress json not null,
      score_history json not null default '[]',
      created_by_type text not null,
      created_by_id text,
      created_at timestamptz not null default clock_timestamp(),
      started_at timestamptz,
      finished_at timestamptz,
      -- counts every change that readers see, for entity tags
      revision integer not null default 1,
      event_seq integer not null default 0,
      applied_version integer,
      applied_candidate_id text,
      budget_reservation_id text,

      -- the queue: when a job was made for it, and which worker has it
      enqueued_at timestamptz,
      attempt integer not null default 0,
      -- attempts that ended with their worker
      losses integer not null default 0,
      lease_token text,
      heartbeat_at timestamptz,

      -- the ledger. null is no limit
      limit_calls integer,
      limit_tokens bigint,
      limit_nano_usd bigint,
      used_calls integer not null default 0,
      used_tokens bigint not null default 0,
      used_nano_usd bigint not null default 0,
      reserved_calls integer not null default 0,
      reserved_tokens bigint not null default 0,
      reserved_nano_usd bigint not null default 0,
      -- kept for the final evaluation
      holdout_calls integer not null default 0,
      holdout_tokens bigint not null default 0,
      holdout_nano_usd bigint not null default 0,
      task_calls integer not null default 0,
      reflect_calls integer not null default 0,
      judge_calls integer not null default 0,
      input_tokens bigint not null default 0,
      output_tokens bigint not null default 0,
      -- a call told no usage, so its reservation counts
      usage_estimated boolean not null default false,

      unique (project_id, id),
      foreign key (project_id, prompt_id) references prompts (project_id, id) on delete cascade
    );
    create unique index optimization_runs_active on optimization_runs (project_id, prompt_id)
      where state in ('queued', 'running', 'cancelling');
    create index optimization_runs_by_prompt on optimization_runs (project_id, prompt_id, id desc);
    create index optimization_runs_by_state on optimization_runs (project_id, prompt_id, state, id desc);
    create index optimization_runs_open on optimization_runs (workspace_id, created_at)
      where state in ('queued', 'running', 'cancelling');

    create table optimization_rows (
      project_id text not null,
      run_id text not null,
      -- the order in which the search gets them
      position integer not null,
      row_key text not null,
      split text not null check (split in ('train', 'val', 'holdout')),
      inputs json not null,
      -- null if it is not known; JSON null is 'null'
      expected json,
      source text not null,
      weight double precision not null,
      note text,
      primary key (run_id, row_key),
      foreign key (project_id, run_id) references optimization_runs (project_id, id) on delete cascade
    );

    create table optimization_candidates (
      project_id text not null,
      run_id text not null,
      id text not null,
      -- the order in which they came to be
      position integer not null,
      hash text not null,
      content json not null,
      parents text[] not null,
      origin text not null,
      hypothesis text,
      status text not null check (status in ('rejected_invalid', 'rejected_gate', 'raced_out', 'pool')),
      reject_reason text,
      iteration integer not null,
      prompt_tokens integer not null,
      minibatch_before double precision,
      minibatch_after double precision,
      val_mean double precision,
      val_n integer,
      primary key (run_id, id),
      unique (run_id, position),
      foreign key (project_id, run_id) references optimization_runs (project_id, id) on delete cascade
    );

    create table optimization_evaluations (
      project_id text not null,
      run_id text not null,
      candidate_hash text not null,
      row_key text not null,
      sample_ix integer not null,
      split text not null,
      -- null if the row had an error
      score double precision,
      objectives json not null,
      feedback text not null,
      output text not null,
      latency_ms double precision not null,
      input_tokens bigint not null,
      output_tokens bigint not null,
      cost_nano_usd bigint,
      error text,
      primary key (run_id, candidate_hash, row_key, sample_ix),
      foreign key (project_id, run_id) references optimization_runs (project_id, id) on delete cascade
    );

    -- the journal: a replay of the search gets the results of finished calls from here
    create table optimization_calls (
      project_id text not null,
      run_id text not null,
      call_key text not null,
      attempt integer not null,
      kind text not null check (kind in ('task', 'reflect', 'judge')),
      phase text not null check (phase in ('search', 'holdout')),
      -- unknown: its worker ended before the response, so it counts as spent
      state text not null default 'reserved' check (state in ('reserved', 'done', 'failed', 'unknown')),
      reserved_tokens bigint not null,
      -- those of the response, which are part of reserved_tokens
      reserved_output_tokens bigint not null,
      reserved_nano_usd bigint not null,
      billed boolean,
      -- false if the call was sent again after this attempt
      final boolean not null default true,
      response text,
      error_code text,
      error_message text,
      input_tokens bigint,
      output_tokens bigint,
      cost_nano_usd bigint,
      latency_ms double precision,
      created_at timestamptz not null default clock_timestamp(),
      primary key (run_id, call_key, attempt),
      foreign key (project_id, run_id) references optimization_runs (project_id, id) on delete cascade
    );
    create index optimization_calls_open on optimization_calls (run_id) where state = 'reserved';

    create table optimization_events (
      project_id text not null,
      run_id text not null,
      seq integer not null,
      type text not null check (type in ('state', 'progress', 'candidate')),
      data json not null,
      created_at timestamptz not null default clock_timestamp(),
      primary key (run_id, seq),
      foreign key (project_id, run_id) references optimization_runs (project_id, id) on delete cascade
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop table optimization_events, optimization_calls, optimization_evaluations, optimization_candidates,
      optimization_rows, optimization_runs;
  `);
}
