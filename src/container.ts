import { createHmac } from 'node:crypto';
import { closeClients, connectClients } from './clients.ts';
import type { Config } from './config.ts';
import { apiKeysEndpoints } from './domains/api-keys/index.ts';
import { auditEndpoints } from './domains/audit/index.ts';
import {
  type AuthenticateDeps,
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
  sharerOf,
  tenantOf,
  UnknownKeys,
} from './domains/auth/index.ts';
import { executionsEndpoints, ReadLanes, TraceThreads } from './domains/executions/index.ts';
import { createIdempotencyStore } from './domains/idempotency/index.ts';
import { identityEndpoints } from './domains/identity/index.ts';
import {
  Admission,
  createBodyExaminer,
  defaultOtlpLimits,
  ingestionEndpoints,
  type OtlpLimits,
  QueueGate,
} from './domains/ingestion/index.ts';
import { apiDescription, createDocuments, knownFields, operationsEndpoints } from './domains/operations/index.ts';
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
import type { LaneName } from './http/request-lanes.ts';
import { createProbes } from './probes.ts';
import { identityEventCounts } from './queue/identity-event-counts.ts';
import { queueGauges } from './queue/queue-gauges.ts';
import { queueConcern } from './queue/queue-health.ts';
import { oldestOf, oldestWaitingAtMs, readQueueStats } from './queue/queue-stats.ts';
import { summaryCounts } from './queue/summary-list.ts';
import { readWorkerFigures } from './queue/worker-figures.ts';
import { clickHouseAway } from './stores/clickhouse/errors.ts';
import { postgresAway, recognisePostgresError } from './stores/postgres/errors.ts';
import { createInvalidations } from './stores/postgres/invalidations.ts';
import { hintIfOwner } from './stores/postgres/service-role.ts';
import { firstConnection } from './stores/redis/client.ts';
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
  /** Makes what is dear and always the same, before requests come: it holds up the event loop. */
  prepare(): void;
  /** Starts in the background what the first requests would wait for. */
  warmUp(): void;
  close(): Promise<void>;
}

/** Three checks in a row that get no answer, a second each and one after it, end before a request has waited in vain: see `requestWaitMsMax`. */
const probeEveryMs = 500;

/** Builds the API process: the one place where its clients are made and handed down. */
export function createContainer(config: Config): Container {
  const logger = createLogger({ level: config.logLevel, name: 'api' });
  const startedAtMs = Date.now();
  const clients = connectClients(config, logger);
  const { postgres, clickhouse, redis, clock, publisher, identityEvents } = clients;
  const invalidations = createInvalidations({ databaseUrl: config.databaseUrl, logger });
  const threads = new TemplateThreads();
  const limits = otlpLimits(config);
  const examiner = createBodyExaminer(limits);
  const gate = new QueueGate({
    redis,
    logger,
    clock,
    oldestWaitingAtMs: () => oldestOf(publisher.queues, oldestWaitingAtMs),
    backlogBytes: (workspaceId) => publisher.backlogBytes(workspaceId),
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
  const probes = createProbes({ postgres: clients.credentials, clickhouse, redis }, () =>
    queueConcern({ redis, clock, lanes: publisher.queues, refusal: () => gate.refusal }),
  );
  const whyStuck = (lane: LaneName) => {
    if (lane === 'analysis') return probes.clickhouse.isSilent ? clickHouseAway() : undefined;
    return probes.postgres.isSilent ? postgresAway() : undefined;
  };
  const latency = createLatencyRecorder();
  const metrics = createMetrics({ process: 'api' });
  metrics.exportCounts(identityEventCounts(redis));
  metrics.exportCounts(summaryCounts(redis));
  const queueStats = () =>
    Promise.all([...publisher.queues, identityEvents.queue].map((queue) => readQueueStats(queue, clock.nowMs())));
  for (const gauge of queueGauges(queueStats)) metrics.exportGauge(gauge);
  const limiter = new Limiter({ redis, logger });
  const refusedCredentials = new RefusedCredentials();
  const prompts = new ItemCache({ kind: promptKind, postgres, invalidations });
  const parts = new ItemCache({ kind: partKind, postgres, invalidations });
  const documents = createDocuments(() =>
    openApiDocument({
      title: 'Promptlane',
      version,
      description: apiDescription,
      knownFields,
      contracts: endpoints,
      leastRoleOf: (scope) => (isScope(scope) ? leastRoleOf[scope] : undefined),
    }),
  );
  const endpoints: Endpoint<Principal>[] = [
    ...authEndpoints({ postgres }),
    ...workspacesEndpoints<Principal>({ postgres, invalidations, cursorSecret, callerOf }),
    ...quotasEndpoints({ redis }),
    ...auditEndpoints({ postgres, cursorSecret }),
    ...apiKeysEndpoints({ postgres, invalidations, apiKeyPepper: config.apiKeyPepper, cursorSecret }),
    ...partsEndpoints({ postgres, invalidations, threads, cursorSecret, cache: parts }),
    ...promptsEndpoints({ postgres, invalidations, threads, cursorSecret, cache: prompts }),
    ...executionsEndpoints({
      ...{ clickhouse, postgres, knownPrompts, cursorSecret, threads: traceThreads },
      lanes: new ReadLanes(() => whyStuck('analysis')),
    }),
    ...pricingEndpoints({ postgres }),
    ...renderingEndpoints(createRendering({ postgres, threads, prompts, parts })),
    ...ingestionEndpoints({
      admission: new Admission(),
      limiter,
      gate,
      clock,
      publisher,
      examiner,
      limits,
      postgres,
      cursorSecret,
    }),
    ...identityEndpoints({
      ...{ postgres, redis, identityEvents, limiter, refusedCredentials, cursorSecret, logger },
      ...{ secrets: config.identityWebhookSecrets, assertQueueSafe: () => gate.assertSafe() },
    }),
    ...operationsEndpoints({
      version,
      startedAtMs,
      probes,
      latency,
      metrics,
      queueStats,
      ingestStats: async () => ({
        ackP99Ms: latency.summary('POST /api/v1/traces').p99_ms,
        freshnessP95Ms: worst((await readWorkerFigures(redis, clock.nowMs())).map((figures) => figures.freshnessP95Ms)),
      }),
      documents,
    }),
  ];
  const keyUses = new KeyUses({ write: (keyIds) => markKeysUsed(postgres, keyIds), logger });
  const auth: AuthenticateDeps = {
    tenancy: createTenancy({ postgres: clients.credentials, invalidations, defaultPlan: config.defaultPlan }),
    verifyToken: createTokenVerifier(config.jwt, logger),
    keyUses,
    unknownKeys: new UnknownKeys(),
    apiKeyPepper: config.apiKeyPepper,
    adminApiKey: config.adminApiKey,
  };
  const app = createApp<Principal>({
    endpoints,
    headers: () => unlimitedHeaders('none'),
    sharerOf: (request, principal) => sharerOf(principal, request.socket.remoteAddress),
    authorise: (request, endpoint, params) =>
      refusedCredentials.count(request.socket.remoteAddress, () => authorise(auth, request, endpoint.access, params)),
    admit: (_request, response, { rateClass }, principal) =>
      admitRequest({ limiter }, { rateClass, principal, setHeaders: (headers) => setHeaders(response, headers) }),
    idempotency: { store: createIdempotencyStore(postgres), tenantOf },
    recogniseError: recognisePostgresError,
    whyStuck,
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
      await hintIfOwner(postgres, logger);
      const { queue, ...engines } = probes;
      for (const probe of Object.values(engines)) probe.start(probeEveryMs);
      await gate.start();
      queue.start(probeEveryMs); // It says what the gate has seen.
    },
    prepare: () => documents.make(),
    warmUp: () => threads.warmUp(),
    async close() {
      for (const probe of Object.values(probes)) probe.stop();
      gate.close();
      invalidations.close();
      await keyUses.flush();
      await examiner.close();
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

function worst(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
