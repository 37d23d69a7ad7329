import { Redis } from 'ioredis';
import type { Logger } from '../../telemetry/logger.ts';

/** Kinds of things whose cached records other processes must forget when they change, each by its id. */
export type InvalidationTopic = 'api_key' | 'part' | 'project' | 'prompt' | 'user' | 'workspace';

export interface Invalidations {
  /** Whether changes elsewhere are heard of right now. */
  readonly connected: boolean;
  /**
   * Says that something has changed, here at once and elsewhere through Redis; to be called after the commit. Never throws: while Redis
   * is away everybody's caches live shortly, and what cannot be sent is tried again for a minute.
   */
  publish(topic: InvalidationTopic, id: string): Promise<void>;
  subscribe(topic: InvalidationTopic, changed: (id: string) => void): void;
  /** Called when changes may have been missed: after the connection was lost and is back. */
  onGap(missed: () => void): void;
  start(): void;
  close(): void;
}

const channel = 'promptlane:invalidations';
/** A connection that hangs without an end is noticed within the sum, which must stay well below a second. */
const heartbeatEveryMs = 250;
const heartbeatTimeoutMs = 400;
const resendEveryMs = 250;
/** As long as a record may live, after which it is read again anyway. */
const resendForMs = 60_000;

/** Hears and tells what changed. One connection of its own listens; telling goes over `redis`. `start` opens the connection. */
export function createInvalidations(options: { redisUrl: string; redis: Redis; logger: Logger }): Invalidations {
  const { redis, logger } = options;
  const listeners = new Map<string, ((id: string) => void)[]>();
  const gapListeners: (() => void)[] = [];
  const tell = (topic: string, id: string) => {
    for (const changed of listeners.get(topic) ?? []) changed(id);
  };
  const listener = createListener(options.redisUrl, logger, {
    heard: (message) => {
      const [topic = '', id = ''] = message.split(' ');
      tell(topic, id);
    },
    back: () => {
      for (const missed of gapListeners) missed();
    },
  });
  return {
    get connected() {
      return listener.connected();
    },
    async publish(topic, id) {
      tell(topic, id);
      const send = () => redis.publish(channel, `${topic} ${id}`);
      await send().catch((error: unknown) => {
        logger.warn({ err: error, topic }, 'an invalidation could not be sent; trying again');
        resend(send, Date.now() + resendForMs);
      });
    },
    subscribe(topic, changed) {
      listeners.set(topic, [...(listeners.get(topic) ?? []), changed]);
    },
    onGap(missed) {
      gapListeners.push(missed);
    },
    start: listener.start,
    close: listener.close,
  };
}

function resend(send: () => Promise<unknown>, untilMs: number): void {
  setTimeout(() => {
    if (Date.now() < untilMs) send().catch(() => resend(send, untilMs));
  }, resendEveryMs).unref();
}

/** A connection that counts as connected only while it is subscribed and its heartbeat is answered. */
function createListener(
  redisUrl: string,
  logger: Logger,
  { heard, back }: { heard: (message: string) => void; back: () => void },
) {
  let subscribed = false;
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    autoResubscribe: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 500,
    commandTimeout: heartbeatTimeoutMs,
    retryStrategy: (times) => Math.min(50 * 2 ** (times - 1), 500),
  });
  const subscribe = async () => {
    await redis.subscribe(channel);
    subscribed = true;
    back();
  };
  const lost = () => {
    subscribed = false;
  };
  const startOver = () => {
    lost();
    if (redis.status === 'ready') redis.disconnect(true);
  };
  redis.on('error', (error: unknown) => logger.debug({ err: error }, 'redis subscription'));
  redis.on('message', (_channel: string, message: string) => heard(message));
  redis.on('ready', () => void subscribe().catch(startOver));
  redis.on('close', lost);
  let heartbeat: NodeJS.Timeout | undefined;
  return {
    connected: () => subscribed,
    start() {
      redis.connect().catch(() => undefined); // It goes on trying, as retryStrategy says.
      heartbeat = setInterval(() => {
        if (subscribed) redis.ping().catch(startOver);
      }, heartbeatEveryMs);
      heartbeat.unref();
    },
    close() {
      clearInterval(heartbeat);
      redis.disconnect();
    },
  };
}
