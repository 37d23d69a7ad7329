import { createHmac } from 'node:crypto';
import type { Config } from '../config.ts';
import { createAnalyticsLane } from '../domains/analytics/index.ts';
import {
  authorize,
  createAuthentication,
  isScope,
  leastRoleOf,
  limitedWorkspaceOf,
  type Principal,
  sharerOf,
  tenantOf,
} from '../domains/auth/index.ts';
import { BudgetGuard, exportBudgetMetrics } from '../domains/budgets/index.ts';
import { createExecutions } from '../domains/executions/index.ts';
import { FeedbackCounts, FeedbackReads } from '../domains/feedback/index.ts';
import { createIdempotencyStore } from '../domains/idempotency/index.ts';
import { createReceiving } from '../domains/ingestion/index.ts';
import { apiDescription, createOperations, knownFields } from '../domains/operations/index.ts';
import { createOptimization } from '../domains/optimization/index.ts';
import { partKind } from '../domains/parts/index.ts';
import { promptKind } from '../domains/prompts/index.ts';
import {
  admitRequest,
  chargeWritten,
  exportQuotaMetrics,
  feedbackTokenChecks,
  Limiter,
  noteWritten,
  RefusedCredentials,
  unlimitedHeaders,
} from '../domains/quotas/index.ts';
import { createRendering } from '../domains/rendering/index.ts';
import { TemplateThreads } from '../domains/templates/index.ts';
import { ItemCache } from '../domains/versioned/index.ts';
import { exportWebhookMetrics } from '../domains/webhooks/index.ts';
import type { WorkspaceScope } from '../domains/workspaces/index.ts';
import { createApp } from '../http/app.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { openApiDocument } from '../http/openapi/document.ts';
import { setHeaders } from '../http/request-context.ts';
import { networkOf } from '../lib/network-of.ts';
import { queueConcern } from '../queue/queue-health.ts';
import { endOnWrongTopology } from '../stores/clickhouse/require-topology.ts';
import { createInvalidations } from '../stores/postgres/invalidations.ts';
import { hintIfOwner, hintIfUnlimited } from '../stores/postgres/service-role.ts';
import { firstConnection } from '../stores/redis/client.ts';
import { createLatencyRecorder } from '../telemetry/latency.ts';
import { createLogger, type Logger } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { version } from '../version.ts';
import { closeClients, connectClients } from './clients.ts';
import { createEndpoints } from './endpoints.ts';
import { createProbes, whyStuck } from './probes.ts';
import { recordPromptEvents } from './prompt-events.ts';

export interface ApiProcess {
  app: ReturnType<typeof createApp>;
  endpoints: readonly Endpoint<Principal>[];
  logger: Logger;
  /** Starts to watch the dependencies. Resolves after the first check of the queue. */
  start(): Promise<void>;
  /** Creates expensive constant data before requests arrive. */
  prepare(): Promise<void>;
  /** Starts in the background what the first requests would otherwise wait for. */
  warmUp(): void;
  /** Ends the responses that would not end by themselves. */
  endStreams(): void;
  close(): Promise<void>;
}

/**
 * Interval of the probes. A dependency counts as silent after three checks without an answer. Each
 * takes a second, with a second after it, so this is known before a waiting request reaches
 * `requestWaitMsMax`.
 */
const probeEveryMs = 500;

/** Builds the API process. This is the only place where its clients are created and passed on. */
export function createApiProcess(config: Config): ApiProcess {
  const logger = createLogger({ level: config.logLevel, name: 'api' });
  const clients = connectClients(config, logger);
  const { postgres, credentials, longWork, clickhouse, redis, clock, publisher, identityEvents } = clients;
  const invalidations = createInvalidations({ databaseUrl: config.databaseUrl, logger });
  const cursorSecret = createHmac('sha256', config.apiKeyPepper).update('cursors').digest('hex');
  const latency = createLatencyRecorder();
  const metrics = createMetrics({ process: 'api' });
  const limiter = new Limiter({ redis, logger, clock });
  const refusedCredentials = new RefusedCredentials();
  const threads = new TemplateThreads();
  const authentication = createAuthentication({ config, postgres, credentials, invalidations, logger });
  const receiving = createReceiving({ config, redis, clock, publisher, logger });
  metrics.exportCounts(receiving.unkept);
  metrics.exportGauge(receiving.gate.memory);
  const bodyQueues = [...publisher.queues, publisher.isolation];
  const probes = createProbes({ postgres: credentials, clickhouse, redis }, () =>
    queueConcern({ redis, clock, queues: bodyQueues, refusal: () => receiving.gate.refusal }),
  );
  const feedbackReads = new FeedbackReads(longWork, () => whyStuck(probes, 'records'));
  const feedback = { postgres, cursorSecret, reads: feedbackReads, counts: new FeedbackCounts() };
  metrics.exportCounts(feedback.counts);
  const executions = createExecutions({
    ...{ clickhouse, postgres, feedback: feedback.reads, cursorSecret, logger },
    clickhouseUrl: config.clickhouseUrl,
    whyStuck: () => whyStuck(probes, 'analysis'),
    whyRecordsStuck: () => whyStuck(probes, 'records'),
  });
  const prompts = new ItemCache({ kind: promptKind, postgres, invalidations });
  const parts = new ItemCache({ kind: partKind, postgres, invalidations });
  exportWebhookMetrics(metrics, { redis, postgres });
  exportBudgetMetrics(metrics, { redis });
  exportQuotaMetrics(metrics, { redis });
  const budgets = new BudgetGuard({ postgres, clickhouse, invalidations, logger });
  const rendering = createRendering({
    ...{ postgres, threads, prompts, parts },
    requireBudget: (render) => budgets.require({ ...render, what: 'render' }),
  });
  const optimization = createOptimization({
    ...{ postgres, clickhouse, redis, invalidations, logger, limiter, budgets, prompts, cursorSecret },
    ...{ source: rendering.source, prices: rendering.prices, models: config.llm, changed: recordPromptEvents },
    whyStuck: () => whyStuck(probes, 'analysis'),
  });
  const operations = createOperations({
    ...{ version, redis, clock, probes, latency, metrics },
    queues: [...bodyQueues, identityEvents.queue, optimization.queue],
    openApi: () => describeApi(endpoints),
  });
  const analyticsLane = createAnalyticsLane(() => whyStuck(probes, 'analysis'));
  const endpoints = createEndpoints({
    operations,
    executions,
    analytics: {
      ...{ clickhouse, postgres, prompts, feedback: feedback.reads, knownPrompts: executions.knownPrompts },
      lane: analyticsLane,
      oldestUnstoredMs: publisher.oldestUnfinishedAtMs,
    },
    auth: { postgres },
    budgets: { postgres, clickhouse, invalidations, lane: analyticsLane },
    workspaces: { postgres, invalidations, cursorSecret },
    quotas: { redis },
    audit: { postgres, cursorSecret },
    apiKeys: { postgres, invalidations, apiKeyPepper: config.apiKeyPepper, cursorSecret },
    parts: { postgres, invalidations, threads, cursorSecret, cache: parts },
    prompts: {
      ...{ postgres, longWork, invalidations, threads, cursorSecret },
      chargeWritten: (workspace, bytes) => chargeWritten({ limiter }, workspace, bytes),
      ...{ cache: prompts, changed: recordPromptEvents },
    },
    pricing: { postgres },
    webhooks: { postgres, cursorSecret, apiKeyPepper: config.apiKeyPepper, policy: config.webhookTargets },
    rendering,
    optimization,
    ingestion: { ...receiving, limiter, postgres, cursorSecret },
    feedback: { ...feedback, prompts, tenancy: authentication.tenancy, apiKeyPepper: config.apiKeyPepper },
    identity: {
      ...{ postgres, redis, identityEvents, limiter, refusedCredentials, cursorSecret, logger },
      ...{ secrets: config.identityWebhookSecrets, assertQueueSafe: () => receiving.gate.assertSafe() },
    },
  });
  const app = createApp<Principal>({
    endpoints,
    headers: () => unlimitedHeaders('none'),
    sharerOf: (request, principal) => sharerOf(principal, networkOf(request.socket.remoteAddress)),
    authorize: (request, endpoint, params, credential) =>
      refusedCredentials.count(networkOf(request.socket.remoteAddress), () =>
        authorize(authentication, request, endpoint.access, params, credential),
      ),
    admit: (_request, response, { rateClass, metered }, principal) => {
      const limited = limitedWorkspaceOf(principal);
      return admitRequest(
        { limiter },
        {
          rateClass,
          metered,
          limited,
          within: feedbackLimitsOf(principal, limited),
          setHeaders: (headers) => setHeaders(response, headers),
        },
      );
    },
    meter: ({ rateClass, metered }, principal) => {
      const limited = limitedWorkspaceOf(principal);
      if (limited === undefined || rateClass !== 'write' || metered === false) return undefined;
      return {
        chargeBody: (bytes) => chargeWritten({ limiter }, limited, bytes),
        noteAnswer: (bytes) => noteWritten({ limiter }, limited, bytes),
      };
    },
    idempotency: { store: createIdempotencyStore(postgres), tenantOf },
    whyStuck: (lane) => whyStuck(probes, lane),
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
      await Promise.all([
        hintIfOwner(postgres, logger),
        hintIfUnlimited(postgres, logger),
        endOnWrongTopology(clickhouse, config.clickhouseUrl),
      ]);
      const { queue, ...engines } = probes;
      for (const probe of Object.values(engines)) probe.start(probeEveryMs);
      await receiving.start();
      queue.start(probeEveryMs); // The queue probe reports what the gate has seen.
    },
    prepare: () => operations.documents.make(),
    warmUp: () => {
      threads.warmUp();
      rendering.tokens.warmUp();
    },
    endStreams: () => optimization.feed.close(),
    async close() {
      for (const probe of Object.values(probes)) probe.stop();
      invalidations.close();
      optimization.feed.close();
      await authentication.close();
      await receiving.close();
      await optimization.close();
      await threads.close();
      await executions.close();
      await closeClients(clients);
    },
  };
}

function feedbackLimitsOf(principal: Principal | undefined, limited: WorkspaceScope | undefined) {
  if (principal?.type !== 'feedback_token' || limited === undefined) return undefined;
  return feedbackTokenChecks(limited, principal.traceId);
}

function describeApi(endpoints: readonly Endpoint<Principal>[]): Promise<object> {
  return openApiDocument({
    title: 'Promptlane',
    version,
    description: apiDescription,
    knownFields,
    contracts: endpoints,
    leastRoleOf: (scope) => (isScope(scope) ? leastRoleOf[scope] : undefined),
  });
}
