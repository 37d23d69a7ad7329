import { summarizeLatencies } from '../statistics.ts';
import { type Bench, bodiesFor, measure, prepareBodies } from './bench.ts';

const spansPerS = 2_000;
const defaultSeconds = 15;
const coldSeconds = 3;
const connectionsMax = 256;
/** Polling costs as much as serving. With one of forty traces, there are about a hundred polls per second. */
const sampleEveryTraces = 40;
const pollEveryMs = 20;

/** Log records beside the spans in the scenario `records`. */
const recordsPerS = 500;

/**
 * Open loop at a moderate rate. Measures the time from sending a trace until GET execution returns
 * it complete. The first seconds of new processes, which compile their code, are reported
 * separately as `cold`.
 */
export function freshness(bench: Bench): Promise<object> {
  return measureFreshness(bench, 0);
}

/** The same with log records beside the spans, until the content of the records is readable too. */
export function records(bench: Bench): Promise<object> {
  return measureFreshness(bench, recordsPerS);
}

async function measureFreshness(bench: Bench, logRecordsPerS: number): Promise<object> {
  const seconds = bench.options.seconds ?? defaultSeconds;
  const cold = await measureFor(bench, coldSeconds, logRecordsPerS);
  const { sent, figures, bodies } = await measureFor(bench, seconds, logRecordsPerS);
  return {
    parameters: {
      loop: 'open',
      spans_per_s: spansPerS,
      log_records_per_s: logRecordsPerS,
      seconds,
      sample_every_traces: sampleEveryTraces,
      poll_every_ms: pollEveryMs,
      ...bodies,
    },
    cold: { seconds: coldSeconds, readable: summarizeLatencies(cold.sent.readableMs) },
    readable: summarizeLatencies(sent.readableMs),
    never_readable: cold.sent.unreadable + sent.unreadable,
    polls: sent.polls,
    ...figures,
  };
}

async function measureFor(bench: Bench, seconds: number, logRecordsPerS: number) {
  const { range, bodies } = await prepareBodies(bench, bodiesFor(bench, spansPerS, seconds));
  const bodiesPerS = spansPerS / bench.options.spansPerBody;
  const recordsPerBody = Math.round(logRecordsPerS / bodiesPerS);
  const { sent, figures } = await measure(bench, range, () =>
    bench.load.run('openLoop', { bodiesPerS, connectionsMax, sampleEveryTraces, pollEveryMs, recordsPerBody }),
  );
  return { sent, figures, bodies };
}
