import { type Bench, bodiesFor, measure, prepareBodies } from './bench.ts';

const spansPerS = 7_500;
const defaultSeconds = 20;
const connectionsMax = 256;

/** Open loop at a fixed rate. Measures how long an exporter waits for its response. */
export async function ack(bench: Bench): Promise<object> {
  const seconds = bench.options.seconds ?? defaultSeconds;
  const { range, bodies } = await prepareBodies(bench, bodiesFor(bench, spansPerS, seconds));
  const bodiesPerS = spansPerS / bench.options.spansPerBody;
  const { sent, figures } = await measure(bench, range, () =>
    bench.load.run('openLoop', { bodiesPerS, connectionsMax }),
  );
  return {
    parameters: { loop: 'open', spans_per_s: spansPerS, seconds, connections_max: connectionsMax, ...bodies },
    not_200: sent.bodies - sent.ackMs.length,
    ...figures,
  };
}
