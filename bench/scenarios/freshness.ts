import { summariseLatencies } from '../statistics.ts';
import { type Bench, bodiesFor, measure, prepareBodies } from './bench.ts';

const spansPerS = 2_000;
const defaultSeconds = 15;
const connectionsMax = 256;
/** Watching costs the machine as much as serving: one trace in forty keeps the polls near a hundred a second. */
const sampleEveryTraces = 40;
const pollEveryMs = 20;

/** Open loop at a moderate rate: from sending a trace until GET execution answers it whole. */
export async function freshness(bench: Bench): Promise<object> {
  const seconds = bench.options.seconds ?? defaultSeconds;
  const { range, bodies } = await prepareBodies(bench, bodiesFor(bench, spansPerS, seconds));
  const bodiesPerS = spansPerS / bench.options.spansPerBody;
  const { sent, figures } = await measure(bench, range, () =>
    bench.load.run('openLoop', { bodiesPerS, connectionsMax, sampleEveryTraces, pollEveryMs }),
  );
  return {
    parameters: {
      loop: 'open',
      spans_per_s: spansPerS,
      seconds,
      sample_every_traces: sampleEveryTraces,
      poll_every_ms: pollEveryMs,
      ...bodies,
    },
    readable: summariseLatencies(sent.readableMs),
    never_readable: sent.unreadable,
    polls: sent.polls,
    ...figures,
  };
}
