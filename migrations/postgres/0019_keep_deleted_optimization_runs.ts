import type { Knex } from 'knex';

/**
 * A deleted run with very many rows stays until a worker has deleted them, a part at a time. The service uses the view
 * under the name that the table had, so no statement finds a deleted run. A later migration that adds a column also
 * replaces the view.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table optimization_runs rename to optimization_runs_with_deleted;
    alter table optimization_runs_with_deleted add column deleted_at timestamptz;
    create index optimization_runs_deleted on optimization_runs_with_deleted (deleted_at) where deleted_at is not null;
    create view optimization_runs as select * from optimization_runs_with_deleted where deleted_at is null;
    -- Users of the table may use the view at once: the service runs meanwhile, and gets its rights after all migrations.
    do $$
    declare
      granted record;
    begin
      for granted in
        select grantee, privilege_type from information_schema.table_privileges
        where table_schema = current_schema() and table_name = 'optimization_runs_with_deleted'
          and privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE') and grantee not in ('PUBLIC', current_user)
      loop
        execute format('grant %s on optimization_runs to %I', granted.privilege_type, granted.grantee);
      end loop;
    end $$;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop view optimization_runs;
    delete from optimization_runs_with_deleted where deleted_at is not null;
    alter table optimization_runs_with_deleted drop column deleted_at;
    alter table optimization_runs_with_deleted rename to optimization_runs;
  `);
}
