import { defineConfig } from 'vitest/config';

/** As `up` starts the API: its threads are TypeScript that Node loads, not vitest. */
const execArgv = ['--import', 'tsx'];

/** Projects by what they need: `unit` and `architecture` need nothing, the others get real engines from the global set-up. */
const engines = { globalSetup: ['test/support/global-setup.ts'], execArgv };

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      // Properties run thousands of cases, which take seconds on a busy machine.
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 30_000, execArgv } },
      { test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'] } },
      {
        test: { name: 'api', include: ['test/api/**/*.test.ts'], testTimeout: 20_000, hookTimeout: 60_000, ...engines },
      },
      {
        test: {
          name: 'workers',
          include: ['test/workers/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          ...engines,
        },
      },
      {
        test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000, ...engines },
      },
      // Each fault test kills engines, so it starts its own and runs alone.
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
