import { once } from 'node:events';
import { Cluster, type Command, type CommonRedisOptions, Redis as OneRedis } from 'ioredis';
import { within } from '../../lib/within.ts';
import { clusterOf } from './cluster-url.ts';

/** One Redis, or a Redis Cluster. */
export type Redis = OneRedis | Cluster;

/**
 * Reconnects after 50, 100, 200 … 1000 ms, without end. BullMQ's default grows to 20 s, which would
 * delay recovery.
 */
const retryStrategy = (times: number): number => Math.min(50 * 2 ** (times - 1), 1_000);

/**
 * A connection is given up, and made again, if nothing comes for so long while it owes an answer: the network may
 * have lost it without a word, which the kernel notices after 15 minutes. An idle one owes none. Redis itself stands still
 * for 2 s on a slow disk, and the blocking reads of BullMQ wait for at most 10 s.
 */
const silenceMsMax = { ofRequests: 4_000, ofWorkers: 15_000 };

/**
 * Connects for requests. Every command is answered or fails within a second, whether Redis refuses,
 * hangs or is loading. A command that timed out may still have run, or run later. It is not sent again on the next
 * connection, of one Redis or of a node, because it would then count something twice.
 */
export function connectRequestRedis(redisUrl: string): Redis {
  const socketTimeout = silenceMsMax.ofRequests;
  const impatient = {
    ...{ maxRetriesPerRequest: 1, commandTimeout: 1_000, connectTimeout: 500, socketTimeout },
    autoResendUnfulfilledCommands: false,
  };
  return connect(redisUrl, impatient, { waitsForever: false });
}

/**
 * Connects for workers. Commands wait through an outage, and blocking reads do not time out. BullMQ
 * requires `maxRetriesPerRequest: null`.
 */
export function connectWorkerRedis(redisUrl: string): Redis {
  const patient = { maxRetriesPerRequest: null, connectTimeout: 2_000, socketTimeout: silenceMsMax.ofWorkers };
  return connect(redisUrl, patient, { waitsForever: true });
}

type ConnectionOptions = Pick<
  CommonRedisOptions,
  'maxRetriesPerRequest' | 'commandTimeout' | 'connectTimeout' | 'socketTimeout' | 'autoResendUnfulfilledCommands'
>;

/**
 * Refuses commands while it knows no node. While it connects to a node, the commands for it wait for the connection, at
 * most for their `commandTimeout`: without `enableOfflineQueue`, they would fail as those of a lost connection do.
 */
class ClusterOfRequests extends Cluster {
  override sendCommand(command: Command, ...more: [stream?: never, node?: unknown]): unknown {
    // By the command of this name it finds out whether it is ready.
    if (this.status === 'ready' || command.name === 'cluster') return super.sendCommand(command, ...more);
    command.reject(new Error('The Redis Cluster is not connected'));
    return command.promise;
  }
}

/** In a cluster, `maxRedirections` counts the tries of a command, 100 ms apart. */
const forever = { maxRedirections: Number.MAX_SAFE_INTEGER };
/** A command whose node closes the connection is not tried again. */
const notAgain = { maxRedirections: 8, retryDelayOnFailover: 0 };

function connect(redisUrl: string, options: ConnectionOptions, { waitsForever }: { waitsForever: boolean }): Redis {
  keepStringMethodsFast();
  const cluster = clusterOf(redisUrl);
  if (cluster === undefined) {
    return new OneRedis(redisUrl, { ...options, enableOfflineQueue: waitsForever, retryStrategy });
  }
  const redisOptions = { ...options, ...cluster.options };
  return new (waitsForever ? Cluster : ClusterOfRequests)([...cluster.nodes], {
    ...{ redisOptions, ...(waitsForever ? forever : notAgain) },
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: 2_000,
    // A certificate names the host, not its address.
    ...(cluster.options.tls && { dnsLookup: (host, done) => done(null, host) }),
  });
}

/**
 * Waits at most a second until a new connection is ready, because a fail-fast client refuses
 * commands before that. Never throws: if Redis is unavailable, the commands report it.
 */
export async function firstConnection(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await within(1_000, (signal) => once(redis, 'ready', { signal })).catch(() => undefined);
}

const lookups = 100;

/**
 * Keeps string methods fast. A class of ioredis 6 extends String; after that V8 (Node 20) looks up
 * string methods at every call. Loops over characters become eight times slower, and a span twice
 * as expensive, until methods were looked up often enough through a prototype.
 */
function keepStringMethodsFast(): void {
  const text: { charCodeAt?: unknown } = Object.create(String.prototype);
  for (let i = 0; i < lookups; i++) lookUp(text);
}

function lookUp(text: { charCodeAt?: unknown }): unknown {
  return text.charCodeAt;
}
