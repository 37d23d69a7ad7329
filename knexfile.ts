import type { Knex } from 'knex';
import { readStoreUrls } from './src/cli/store-urls.ts';
import { postgresMigrations } from './src/stores/postgres/migrate.ts';

/** For the knex command line; the processes migrate through src/cli/migrate.ts. */
const config: Knex.Config = {
  client: 'pg',
  connection: readStoreUrls().databaseUrl,
  migrations: postgresMigrations,
};

export default config;
