import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';
import { renormalizeSpans, summarizeOutdated } from '../domains/ingestion/index.ts';
import { NORMALIZER_VERSION } from '../domains/spans/index.ts';
import { countStoredSpans } from '../domains/spans/reads.ts';
import { UnavailableError } from '../lib/errors.ts';
import { backgroundSettings, type ClickHouse, connectClickHouse } from '../stores/clickhouse/client.ts';
import { causeOf } from './explain-fault.ts';
import { readClickHouseUrl } from './store-urls.ts';

const usage = `Usage: npm run renormalize -- [--project <id>] [--below <normalizer version>] [--dry-run]

Reads stored spans again with the current conventions and computes their executions again. Without options, the
command selects every span that a normalizer older than ${NORMALIZER_VERSION} read. Known costs do not change. You can
interrupt the command and run it again.`;

/** A page of large spans may take this long. */
const requestTimeoutMs = 600_000;
/** Spans received more recently are skipped, because the workers may still process them. */
const ageMsMin = 120_000;
const unreadableShownMax = 10;

export interface RenormalizeOptions {
  projectId: string | undefined;
  belowVersion: number;
  dryRun: boolean;
}

/**
 * Reads the command-line options.
 * @throws Error that quotes the invalid option
 */
export function readOptions(args: readonly string[]): RenormalizeOptions {
  const { values } = parseArgs({
    args: [...args],
    options: { project: { type: 'string' }, below: { type: 'string' }, 'dry-run': { type: 'boolean', default: false } },
  });
  const below = values.below ?? String(NORMALIZER_VERSION);
  if (!/^\d{1,5}$/.test(below))
    throw new Error(`--below must be a normalizer version such as 2. The given value is ${below}`);
  return { projectId: values.project, belowVersion: Number(below), dryRun: values['dry-run'] };
}

/**
 * Normalizes the selected spans again. Resolves to whether every span could be read.
 * @throws UnavailableError when ClickHouse is unavailable
 */
export async function renormalize(
  clickhouse: ClickHouse,
  { dryRun, ...options }: RenormalizeOptions,
  print: (line: string) => void,
): Promise<boolean> {
  const filter = { ...options, receivedBeforeMs: Date.now() - ageMsMin };
  const projects = await countStoredSpans(clickhouse, filter);
  const total = [...projects.values()].reduce((sum, count) => sum + count, 0);
  print(`${total} spans of ${projects.size} projects were read by a normalizer below ${filter.belowVersion}.`);
  if (dryRun) return true;
  let unreadable = 0;
  const onUnreadable = (traceId: string, spanId: string, error: unknown) => {
    if (++unreadable <= unreadableShownMax) print(`Span ${spanId} of trace ${traceId} was not changed: ${error}`);
  };
  let done = 0;
  for (const [projectId, count] of projects) {
    const onProgress = (spans: number) =>
      print(`${projectId}: ${spans} of ${count} spans; ${done + spans} of ${total} in total`);
    done += await renormalizeSpans({ clickhouse, onProgress, onUnreadable }, { ...filter, projectId });
  }
  await summarizeOutdated(clickhouse, options);
  print(`Normalized ${done} spans again. ${unreadable} spans could not be read.`);
  return unreadable === 0;
}

/** Runs the command and returns its exit code: 0 all done, 1 not all done, 2 invalid options or variables. */
async function main(): Promise<number> {
  let options: RenormalizeOptions;
  let url: string;
  try {
    options = readOptions(process.argv.slice(2));
    url = readClickHouseUrl();
  } catch (error) {
    const help = error instanceof ConfigError ? '' : `\n\n${usage}`;
    console.error(`${error instanceof Error ? error.message : error}${help}`);
    return 2;
  }
  const clickhouse = connectClickHouse(url, { requestTimeoutMs, settings: backgroundSettings });
  try {
    return (await renormalize(clickhouse, options, console.log)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    console.error(
      `ClickHouse at ${new URL(url).host} does not respond (${causeOf(error)}). Run the command again to continue.`,
    );
    return 1;
  } finally {
    await clickhouse.close();
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await main();
}
