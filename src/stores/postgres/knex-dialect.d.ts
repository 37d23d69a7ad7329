/** The types of knex do not have its dialects, although its documentation says to extend them. */
declare module 'knex/lib/dialects/postgres/index.js' {
  import type { Knex } from 'knex';

  const PostgresDialect: typeof Knex.Client;
  export = PostgresDialect;
}
