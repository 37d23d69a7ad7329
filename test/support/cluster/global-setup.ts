import type { TestProject } from 'vitest/node';
import { share, startStack } from '../global-setup.ts';
import { startClickHouseCluster } from './clickhouse-cluster.ts';

/** As the global set-up of the other projects, with ClickHouse on two shards. */
export const setup = (project: TestProject) => share(project, async () => startStack(await startClickHouseCluster(2)));
