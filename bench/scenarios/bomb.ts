import { round } from '../statistics.ts';
import { type Bench, watchResources } from './bench.ts';
import { untilHealthy } from './overload.ts';

const inflatedBytes = 1024 ** 3;
const sampleEveryMs = 20;

/** Sends one request that decompresses to 1 GiB. Measures its response and its memory. */
export async function bomb(bench: Bench): Promise<object> {
  bench.say('  creating the compressed body');
  const { gzipBytes } = await bench.load.run('prepareBomb', { inflatedBytes });
  const watch = watchResources(bench, sampleEveryMs);
  const { status, ms } = await bench.load.run('sendBomb', {});
  const { byProcess: resources, others_cpu_s } = watch.stop();
  const { rss_start_mib: start, rss_peak_mib: peak } = resources.api ?? { rss_start_mib: null, rss_peak_mib: null };
  return {
    parameters: { gzip_bytes: gzipBytes, inflated_bytes: inflatedBytes, sample_every_ms: sampleEveryMs },
    status,
    ms: round(ms, 1),
    api_extra_rss_mib: start === null || peak === null ? null : round(peak - start, 1),
    healthy_after_ms: await untilHealthy(bench.target.url),
    others_cpu_s,
    resources,
  };
}
