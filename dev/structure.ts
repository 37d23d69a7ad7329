// `npm run structure`: prints the figures that test/architecture/structure.test.ts checks.
import { structureOf } from '../test/architecture/module-graph.ts';
import { sources } from '../test/architecture/sources.ts';

const { workerFiles, priceCallFiles, cycles, domainShares } = structureOf(
  sources().filter(({ path }) => /^(?:src|workers)\//.test(path)),
);
console.log(`The worker process loads ${workerFiles.length} files.`);
console.log(`priceCall loads ${priceCallFiles} files.`);
console.log(`${cycles.length} import cycles${cycles.map((cycle) => `\n  ${cycle.join(', ')}`).join('')}`);
for (const { domain, share } of domainShares) console.log(`${domain.padEnd(14)} ${(share * 100).toFixed(1)} %`);
