import type { Knex } from 'knex';

/**
 * Tables whose rows processes cache: the topic that processes hear of, the column with its id, and
 * the events that matter.
 */
const watched = [
  { table: 'api_keys', topic: 'api_key', column: 'id', events: 'delete' },
  { table: 'users', topic: 'user', column: 'id', events: 'insert or update or delete' },
  { table: 'memberships', topic: 'user', column: 'user_id', events: 'insert or update or delete' },
  { table: 'workspaces', topic: 'workspace', column: 'id', events: 'update or delete' },
  { table: 'projects', topic: 'project', column: 'id', events: 'update or delete' },
  { table: 'prompts', topic: 'prompt', column: 'id', events: 'insert or update or delete' },
  { table: 'prompt_labels', topic: 'prompt', column: 'prompt_id', events: 'insert or update or delete' },
  { table: 'parts', topic: 'part', column: 'id', events: 'insert or update or delete' },
  { table: 'part_labels', topic: 'part', column: 'part_id', events: 'insert or update or delete' },
] as const;

/**
 * Changes of rows that processes cache. Triggers write them in the transaction of the change, so
 * every process finds them (src/stores/postgres/change-reader.ts), whoever makes the change.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table changes (
      topic text not null,
      subject_id text not null,
      -- readers find by it what was committed since they read last, whatever began first
      xid xid8 not null default pg_current_xact_id(),
      at timestamptz not null default clock_timestamp(),
      primary key (xid, topic, subject_id)
    );
    create index changes_by_time on changes (at);

    -- note_change(topic, column) has the rights of its owner: who changes a row needs none here
    create function note_change() returns trigger language plpgsql security definer set search_path from current as $$
      begin
        insert into changes (topic, subject_id)
          select tg_argv[0], id
          from unnest(array[to_jsonb(old) ->> tg_argv[1], to_jsonb(new) ->> tg_argv[1]]) as id
          where id is not null
          on conflict do nothing;
        return null;
      end
    $$;

    -- the last use of a key changes every minute and nobody caches it
    create trigger note_update after update on api_keys for each row
      when ((to_jsonb(old) - 'last_used_at') is distinct from (to_jsonb(new) - 'last_used_at'))
      execute function note_change('api_key', 'id');
  `);
  for (const { table, topic, column, events } of watched) {
    await knex.raw(
      `create trigger note_change after ${events} on ${table} for each row execute function note_change('${topic}', '${column}')`,
    );
  }
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop function note_change() cascade; drop table changes;');
}
