import { expect, test } from 'vitest';
import { addToPool } from '../../../src/domains/prompt-search/search/add-to-pool.ts';
import type { Candidate } from '../../../src/domains/prompt-search/search/ports.ts';
import { bestOf } from '../../../src/domains/prompt-search/search/search-run.ts';
import { startSearch } from '../../../src/domains/prompt-search/search/start-search.ts';
import { searchInput } from '../../support/simulated-model/search-input.ts';
import { simulatedPorts } from '../../support/simulated-model/simulated-ports.ts';
import { tickets } from '../../support/simulated-model/tickets.ts';

const started = () => startSearch(simulatedPorts({ task: tickets }).ports, searchInput(tickets));

function candidate(id: string, mean: number, promptTokens: number): Candidate {
  return {
    ...{ id, hash: id, content: { type: 'text', template: id }, parents: [], origin: 'demo', hypothesis: null },
    ...{ status: 'pool', rejectReason: null, iteration: 1, promptTokens, minibatch: null, val: { mean, n: 1 } },
  };
}

test('a full pool loses the worst that another is better than: never the seed, the best or the shortest', async () => {
  const run = await started();
  const members = [candidate('seed', 0, 90), candidate('shortest', 0.1, 10), candidate('best', 1, 50)];
  for (const each of members) addToPool(run, each);
  for (let index = 0; index < 497; index++) addToPool(run, candidate(`c${index}`, 0.5, 60));
  expect(run.pool).toHaveLength(500);
  addToPool(run, candidate('worse', 0.4, 60));
  addToPool(run, candidate('longer', 0.5, 61));
  addToPool(run, candidate('newer', 0.5, 60));
  const others = Array.from({ length: 497 }, (_, index) => `c${index}`);
  expect(run.pool.map(({ id }) => id)).toEqual(['seed', 'shortest', 'best', ...others]);
  addToPool(run, candidate('better', 1, 49));
  expect(bestOf(run)?.id).toBe('better');
  expect(run.pool.map(({ id }) => id)).toEqual(['seed', 'shortest', 'best', ...others.slice(0, -1), 'better']);
});

test('a pool of very long candidates is smaller', async () => {
  const run = await started();
  for (let index = 0; index < 50; index++) addToPool(run, candidate(`c${index}`, index / 50, 500_000));
  expect(run.pool.map(({ id }) => id)).toEqual(['c0', ...Array.from({ length: 31 }, (_, index) => `c${index + 19}`)]);
});
