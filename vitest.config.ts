import { defineConfig } from 'vitest/config';

/** As `up` starts the API: its threads are TypeScript that Node loads, not vitest. */
const execArgv = ['--import', 'tsx'];

/**
 * Projects by what they need: `unit` and `architecture` need nothing, the others get real engines
 * from the global set-up.
 */
const engines = { globalSetup: ['test/support/global-setup.ts'], execArgv };

/**
 * One project after the other. Their files share the modules they import: loading them anew takes
 * longer than most files do.
 */
const sharing = (groupOrder: number) => ({ isolate: false, sequence: { groupOrder } });

/** Tests that measure, so nothing runs beside them. */
const measuring = { noise: 'test/faults/noisy-neighbor.test.ts', load: 'test/faults/optimization-load.test.ts' };

export default defineConfig({
  test: {
    reporters: ['default'],
    // Left alone, vitest takes one fewer than there are processors; most of what files here do is wait for engines.
    maxWorkers: 2,
    projects: [
      // Properties run thousands of cases, which take seconds on a busy machine.
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 30_000, execArgv, ...sharing(0) } },
      { test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'], ...sharing(0) } },
      {
        test: {
          name: 'api',
          include: ['test/api/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          ...engines,
          ...sharing(1),
        },
      },
      {
        test: {
          name: 'workers',
          include: ['test/workers/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          ...engines,
          ...sharing(2),
        },
      },
      // The same files as above, with ClickHouse on two shards and PgBouncer: `npm run test:cluster`, not part of `npm test`.
      {
        test: {
          name: 'cluster',
          include: ['test/api/**/*.test.ts', 'test/workers/**/*.test.ts'],
          // They are about the sessions and the users of Postgres itself.
          exclude: ['test/api/stores/postgres-shares.test.ts', 'test/api/stores/service-role.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          globalSetup: ['test/support/cluster/global-setup.ts'],
          execArgv,
          ...sharing(1),
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          ...engines,
          ...sharing(2),
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          ...engines,
          globalSetup: [...engines.globalSetup, 'test/support/browser-setup.ts'],
          ...sharing(2),
        },
      },
      // Each fault test kills engines, so it starts its own.
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          exclude: Object.values(measuring),
          testTimeout: 180_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
      ...Object.entries(measuring).map(([name, file], index) => ({
        test: {
          ...{ name, include: [file] },
          testTimeout: 400_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 4 + index },
        },
      })),
    ],
  },
});
