import type { Knex } from 'knex';

/**
 * What people and programs think of executions, spans, prompts, sessions and the product. Traces are
 * in ClickHouse and may arrive later, so no foreign key names them.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table feedback (
      id text primary key,
      project_id text not null references projects (id) on delete cascade,
      target_type text not null check (target_type in ('execution', 'span', 'prompt', 'session', 'product')),
      -- the target within its type: trace, trace/span, prompt@version, session, or ''
      target_key text not null,
      trace_id text,
      span_id text,
      prompt_id text,
      prompt_version integer,
      session_id text,
      name text not null,
      -- '' for feedback without a user
      user_id text not null,
      value_number double precision,
      value_boolean boolean,
      value_text text,
      rating text check (rating in ('up', 'down', '1', '2', '3', '4', '5')),
      score double precision generated always as (case
        when rating is not null then case rating
          when 'up' then 1 when 'down' then 0
          when '1' then 0 when '2' then 0.25 when '3' then 0.5 when '4' then 0.75 else 1 end
        when value_boolean is not null then case when value_boolean then 1 else 0 end
        when value_number between 0 and 1 then value_number
      end) stored,
      comment text,
      correction text,
      metadata jsonb,
      author_type text not null,
      author_id text,
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      unique (project_id, target_type, target_key, name, user_id)
    );
    create index feedback_by_time on feedback (project_id, created_at desc, id desc);
    create index feedback_by_trace on feedback (project_id, trace_id, created_at desc) where trace_id is not null;
    create index feedback_by_prompt on feedback (project_id, prompt_id, created_at desc) where prompt_id is not null;
    create index feedback_by_session on feedback (project_id, session_id, created_at desc) where session_id is not null;
    create index feedback_by_user on feedback (project_id, user_id, created_at desc) where user_id <> '';
    create index feedback_of_executions on feedback (project_id, created_at, trace_id)
      where target_type in ('execution', 'span');
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table feedback;');
}
