import type { Config } from '../../../config.ts';
import { otlpLimits } from '../../../otlp/limits.ts';
import type { BodyPublisher } from '../../../queue/body-publisher.ts';
import { countLogs } from '../../../queue/log-counts.ts';
import type { RedisClock } from '../../../queue/redis-clock.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { Admission } from './admission.ts';
import { createQueueGate } from './create-queue-gate.ts';
import { createBodyExaminer } from './examine-body.ts';
import { HourlyNotices } from './hourly-notices.ts';
import { UnkeptCounts } from './unkept-counts.ts';

/**
 * Creates what ingestion keeps between requests, once per process. The gate refuses all bodies
 * until `start` is called.
 */
export function createReceiving(deps: {
  config: Pick<Config, 'otlpBodyBytesMax' | 'otlpInflatedBytesMax' | 'ingestQueueBytesMax'>;
  redis: Redis;
  clock: RedisClock;
  publisher: BodyPublisher;
  logger: Logger;
}) {
  const { config, redis, clock, publisher, logger } = deps;
  const limits = otlpLimits(config);
  const examiner = createBodyExaminer(limits);
  const gate = createQueueGate({ config, redis, clock, publisher, logger });
  return {
    ...{ clock, publisher, limits, examiner, gate, admission: new Admission() },
    notices: { logs: new HourlyNotices(), metrics: new HourlyNotices() },
    unkept: new UnkeptCounts(),
    /** Counts rejected log records, if Redis is available. */
    countRejectedLogs: (rejected: number) => void countLogs(redis, { rejected }).catch(() => undefined),
    start: () => gate.start(),
    async close() {
      gate.close();
      await examiner.close();
    },
  };
}
