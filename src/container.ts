import { createHmac } from 'node:crypto';
import type { Config } from './config.ts';
import { apiKeysEndpoints } from './domains/api-keys/index.ts';
import { auditEndpoints } from './domains/audit/index.ts';
import {
  authEndpoints,
  authorise,
  callerOf,
  createTenancy,
  createTokenVerifier,
  isScope,
  KeyUses,
  leastRoleOf,
  markKeysUsed,
  type Principal,
  tenantOf,
} from './domains/auth/index.ts';
import { executionsEndpoints, TraceThreads } from './domains/executions/index.ts';
import { createIdempotencyStore } from './domains/idempotency/index.ts';
import { identityEndpoints } from './domains/identity/index.ts';
import {
  Admission,
  createBodyInflater,
  createBodyScanner,
  defaultOtlpLimits,
  ingestionEndpoints,
  type OtlpLimits,
  QueueGate,
} from './domains/ingestion/index.ts';
import { apiDescription, type DependencyName, knownFields, operationsEndpoints } from './domains/operations/index.ts';
import { partKind, partsEndpoints } from './domains/parts/index.ts';
import { pricingEndpoints } from './domains/pricing/index.ts';
import { findKnownPrompts, KnownPrompts, promptKind, promptsEndpoints } from './domains/prompts/index.ts';
import {
  admitRequest,
  Limiter,
  quotasEndpoints,
  RefusedCredentials,
  unlimitedHeaders,
} from './domains/quotas/index.ts';
import { createRendering, renderingEndpoints } from './domains/rendering/index.ts';
import { TemplateThreads } from './domains/templates/index.ts';
import { ItemCache } from './domains/versioned/index.ts';
import { workspacesEndpoints } from './domains/workspaces/index.ts';
import { createApp } from './http/app.ts';
import type { Endpoint } from './http/endpoint.ts';
import { openApiDocument } from './http/openapi.ts';
import { setHeaders } from './http/request-context.ts';
import { type BodyPublisher, createBodyPublisher } from './queue/body-publisher.ts';
import { identityEventCounts } from './queue/identity-event-counts.ts';
import { createIdentityEventPublisher, type IdentityEventPublisher } from './queue/identity-event-publisher.ts';
import { oldestWaitingAtMs, readQueueStats } from './queue/queue-stats.ts';
import { readWorkerFigures } from './queue/worker-figures.ts';
import { type ClickHouse, connectClickHouse } from './stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from './stores/postgres/client.ts';
import { connectRequestRedis, firstConnection, type Redis } from './stores/redis/client.ts';
import { createInvalidations } from './stores/redis/invalidations.ts';
import { createProbe, type Probe } from './telemetry/health.ts';
import { createLatencyRecorder } from './telemetry/latency.ts';
import { createLogger, type Logger } from './telemetry/logger.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { version } from './version.ts';

export interface Container {
  app: ReturnType<typeof createApp>;
  endpoints: readonly Endpoint<Principal>[];
  logger: Logger;
  /** Begins to watch the dependencies; resolves after the first look at the queue. */
  start(): Promise<void>;
  /** Starts in the background what the first requests would wait for. */
  warmUp(): void;
  close(): Promise<void>;
}

interface Clients {
  postgres: Postgres;
  clickhouse: ClickHouse;
  redis: Redis;
  publisher: BodyPublisher;
  identityEvents: IdentityEventPublisher;
}

const probeEveryMs = 5_000;

/** Builds the API process: the one place where its clients are made and handed down. */
export function createContainer(config: Config): Container {
  const logger = createLogger({ level: config.logLevel, name: 'api' });
  const startedAtMs = Date.now();
  const redis = connectRequestRedis(config.redisUrl);
  redis.on('error', (error: unknown) => logger.warn({ err: error }, 'redis connection'));
  const clients: Clients = {
    postgres: connectPostgres(config.databaseUrl),
    clickhouse: connectClickHouse(config.clickhouseUrl),
    redis,
    publisher: createBodyPublisher(redis),
    identityEvents: createIdentityEventPublisher(redis),
  };
  const { postgres, clickhouse, publisher, identityEvents } = clients;
  const invalidations = createInvalidations({ redisUrl: config.redisUrl, redis, logger });
  const threads = new TemplateThreads();
  const limits = otlpLimits(config);
  const scanner = createBodyScanner(limits);
  const gate = new QueueGate({
    redis,
    logger,
    oldestWaitingAtMs: () => oldestWaitingAtMs(publisher.queue),
    memoryBytesMax: config.ingestQueueBytesMax,
  });
  const cursorSecret = createHmac('sha256', config.apiKeyPepper).update('cursors').digest('hex');
  const knownPrompts = new KnownPrompts({
    find: (projectId, wanted) => findKnownPrompts(postgres, projectId, wanted),
    // A reader sees a prompt as soon as it is there.
    unknownMs: 0,
    logger,
  });
  const traceThreads = new TraceThreads({ clickhouseUrl: config.clickhouseUrl, cursorSecret, knownPrompts });
  const probes = createProbes(clients);
  const latency = createLatencyRecorder();
  const metrics = createMetrics({ process: 'api' });
  metrics.exportCounts(identityEventCounts(redis));
  const limiter = new Limiter({ redis, logger });
  const refusedCredentials = new RefusedCredentials();
  const prompts = new ItemCache({ kind: promptKind, postgres, invalidations });
  const parts = new ItemCache({ kind: partKind, postgres, invalidations });
  const endpoints: Endpoint<Principal>[] = [
    ...authEndpoints({ postgres }),
    ...workspacesEndpoints<Principal>({ postgres, invalidations, cursorSecret, callerOf }),
    ...quotasEndpoints({ redis }),
    ...auditEndpoints({ postgres, cursorSecret }),
    ...apiKeysEndpoints({ postgres, invalidations, apiKeyPepper: config.apiKeyPepper, cursorSecret }),
    ...partsEndpoints({ postgres, invalidations, threads, cursorSecret, cache: parts }),
    ...promptsEndpoints({ postgres, invalidations, threads, cursorSecret, cache: prompts }),
    ...executionsEndpoints({ clickhouse, postgres, knownPrompts, cursorSecret, threads: traceThreads }),
    ...pricingEndpoints({ postgres }),
    ...renderingEndpoints(createRendering({ postgres, threads, prompts, parts })),
    ...ingestionEndpoints({
      admission: new Admission(),
      limiter,
      gate,
      publisher,
      inflate: createBodyInflater(limits.inflatedBytesMax),
      scan: scanner.scan,
      limits,
      postgres,
      cursorSecret,
    }),
    ...identityEndpoints({
      ...{ postgres, redis, identityEvents, limiter, refusedCredentials, cursorSecret, logger },
      secrets: config.identityWebhookSecrets,
    }),
    ...operationsEndpoints({
      version,
      startedAtMs,
      probes,
      latency,
      metrics,
      queueStats: () => Promise.all([publisher.queue, identityEvents.queue].map((queue) => readQueueStats(queue))),
      ingestStats: async () => ({
        ackP99Ms: latency.summary('POST /api/v1/traces').p99_ms,
        freshnessP95Ms: worst((await readWorkerFigures(redis)).map((figures) => figures.freshnessP95Ms)),
      }),
      openapi: () =>
        openApiDocument({
          title: 'Promptlane',
          version,
          description: apiDescription,
          knownFields,
          contracts: endpoints,
          leastRoleOf: (scope) => (isScope(scope) ? leastRoleOf[scope] : undefined),
        }),
    }),
  ];
  const keyUses = new KeyUses({ write: (keyIds) => markKeysUsed(postgres, keyIds), logger });
  const auth = {
    tenancy: createTenancy({ postgres, invalidations, defaultPlan: config.defaultPlan }),
    verifyToken: createTokenVerifier(config.jwt, logger),
    keyUses,
    apiKeyPepper: config.apiKeyPepper,
    adminApiKey: config.adminApiKey,
  };
  const app = createApp<Principal>({
    endpoints,
    headers: () => unlimitedHeaders('none'),
    authorise: (request, endpoint, params) =>
      refusedCredentials.count(request.socket.remoteAddress, () => authorise(auth, request, endpoint.access, params)),
    admit: (_request, response, { rateClass }, principal) =>
      admitRequest({ limiter }, { rateClass, principal, setHeaders: (headers) => setHeaders(response, headers) }),
    idempotency: { store: createIdempotencyStore(postgres), tenantOf },
    logger,
    metrics,
    latency,
  });

  return {
    app,
    endpoints,
    logger,
    async start() {
      invalidations.start();
      await firstConnection(redis);
      for (const probe of Object.values(probes)) probe.start(probeEveryMs);
      await gate.start();
    },
    warmUp: () => threads.warmUp(),
    async close() {
      for (const probe of Object.values(probes)) probe.stop();
      gate.close();
      invalidations.close();
      await keyUses.flush();
      await scanner.close();
      await threads.close();
      await traceThreads.close();
      await closeClients(clients);
    },
  };
}

/** What ARCHITECTURE calls limits of one request, with the two sizes an operator may change. */
export function otlpLimits(config: Pick<Config, 'otlpBodyBytesMax' | 'otlpInflatedBytesMax'>): OtlpLimits {
  return {
    ...defaultOtlpLimits,
    bodyBytesMax: config.otlpBodyBytesMax,
    inflatedBytesMax: config.otlpInflatedBytesMax,
  };
}

function createProbes({ postgres, clickhouse, redis, publisher }: Clients): Record<DependencyName, Probe> {
  return {
    postgres: createProbe({ check: async () => postgres.raw('select 1') }),
    clickhouse: createProbe({
      check: async (signal) => {
        const result = await clickhouse.query({ query: 'SELECT 1', abort_signal: signal });
        await result.text();
      },
    }),
    redis: createProbe({ check: async () => redis.ping() }),
    queue: createProbe({ check: async () => publisher.queue.getJobCounts('wait') }),
  };
}

async function closeClients({ postgres, clickhouse, redis, publisher, identityEvents }: Clients): Promise<void> {
  await Promise.all([publisher.close(), identityEvents.close()]);
  redis.disconnect();
  await Promise.all([postgres.destroy(), clickhouse.close()]);
}

function worst(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
