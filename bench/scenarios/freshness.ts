import { summarizeLatencies } from '../statistics.ts';
import { type Bench, bodiesFor, measure, prepareBodies } from './bench.ts';

const spansPerS = 2_000;
const defaultSeconds = 15;
const coldSeconds = 3;
const connectionsMax = 256;
/**
 * Polling costs as much as serving. With one of forty traces, there are about a hundred polls per
 * second. With log records there are fewer, of bodies that get their records before and after.
 */
const withoutRecords = { recordsPerS: 0, sampleEveryTraces: 40, pollEveryMs: 20 };
const withRecords = { recordsPerS: 500, sampleEveryTraces: 210, pollEveryMs: 100 };

/**
 * Open loop at a moderate rate. Measures the time from sending a trace until GET execution returns
 * it complete. The first seconds of new processes, which compile their code, are reported
 * separately as `cold`.
 */
export function freshness(bench: Bench): Promise<object> {
  return measureFreshness(bench, withoutRecords);
}

/** The same with log records beside the spans, until the content of the records is readable too. */
export function records(bench: Bench): Promise<object> {
  return measureFreshness(bench, withRecords);
}

async function measureFreshness(bench: Bench, load: typeof withRecords): Promise<object> {
  const seconds = bench.options.seconds ?? defaultSeconds;
  const cold = await measureFor(bench, coldSeconds, load);
  const { sent, figures, bodies } = await measureFor(bench, seconds, load);
  return {
    parameters: {
      loop: 'open',
      spans_per_s: spansPerS,
      log_records_per_s: load.recordsPerS,
      seconds,
      sample_every_traces: load.sampleEveryTraces,
      poll_every_ms: load.pollEveryMs,
      ...bodies,
    },
    cold: { seconds: coldSeconds, readable: summarizeLatencies(cold.sent.readableMs) },
    readable: summarizeLatencies(sent.readableMs),
    never_readable: cold.sent.unreadable + sent.unreadable,
    polls: sent.polls,
    ...figures,
  };
}

async function measureFor(
  bench: Bench,
  seconds: number,
  { recordsPerS, sampleEveryTraces, pollEveryMs }: typeof withRecords,
) {
  const { range, bodies } = await prepareBodies(bench, bodiesFor(bench, spansPerS, seconds));
  const bodiesPerS = spansPerS / bench.options.spansPerBody;
  const recordsPerBody = Math.round(recordsPerS / bodiesPerS);
  const { sent, figures } = await measure(bench, range, () =>
    bench.load.run('openLoop', { bodiesPerS, connectionsMax, sampleEveryTraces, pollEveryMs, recordsPerBody }),
  );
  return { sent, figures, bodies };
}
