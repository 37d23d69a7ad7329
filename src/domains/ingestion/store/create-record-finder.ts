import { setTimeout as delay } from 'node:timers/promises';
import { FairLane } from '../../../lib/fair-lane.ts';
import type { LogProjects } from '../../../queue/log-projects.ts';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { loadLogRecords, type RecordFinder, type SpanRecords } from '../../log-records/index.ts';

/** Finds the log records of spans that are about to be stored. */
export function createRecordFinder(deps: {
  clickhouse: ClickHouse;
  logProjects: LogProjects;
  logger: Logger;
}): RecordFinder {
  return {
    mayHave: (projectId) => deps.logProjects.isKnown(projectId),
    async find(projectId, spans, bytesMax) {
      try {
        const { findRecordsOf } = await loadLogRecords();
        return await findRecordsOf(deps.clickhouse, projectId, spans, bytesMax);
      } catch (error) {
        deps.logger.warn({ err: error, project_id: projectId }, 'log records could not be read, they are joined later');
        return new Map();
      }
    },
  };
}

/** A look-up asks for the bodies of at most this many spans together, which also bounds their traces. */
const spansMax = 1_000;
/**
 * Between the beginnings of two look-ups for a project. Its bodies that arrive meanwhile are asked about together.
 * After a look-up that took long, the next one begins only after twice that time: each statement takes some
 * milliseconds of a processor (10, as estimated from 45 a second), also if it finds nothing, and others want
 * ClickHouse then. Look-ups of `spansMax` that are full by then run one after the other: they gain nothing from waiting.
 */
const lookUpPauseMs = 150;
const restsPerLookUp = 2;
const restMsMax = 600;

type Spans = readonly { traceId: string; spanId: string }[];
type Answer = ReadonlyMap<string, SpanRecords> | undefined;

interface Asked {
  workspaceId: string;
  projectId: string;
  bytesMax: number;
}

/** Bodies that are looked up together. */
interface LookUp {
  bodies: Spans[];
  spans: number;
  answers: Promise<ReadonlyMap<Spans, Answer>>;
}

/**
 * Creates finders of log records for bodies on the main thread, by workspace. While the look-ups of a
 * workspace wait for a turn, those of one project become one: ClickHouse takes nearly as long for one
 * body as for ten.
 */
export function createLookUps(finder: RecordFinder, pauseMs = lookUpPauseMs): (workspaceId: string) => RecordFinder {
  // Shared by all workspaces: one look-up of a workspace at a time, so that it does not take ClickHouse
  // from the inserts of others.
  const lane = new FairLane({
    name: 'look-ups of log records',
    capacity: 4,
    perKey: 1,
    waitingPerKey: Number.POSITIVE_INFINITY,
    waitingMax: Number.POSITIVE_INFINITY,
  });
  const waiting = new Map<string, LookUp>();
  /** Resolves when the next look-up for a project may begin. */
  const pauses = new Map<string, Promise<void>>();

  /** Looks up bodies together when it is their turn, and those of each half apart if all have too many bytes. */
  async function findAll(of: Asked, bodiesOf: () => readonly Spans[]): Promise<ReadonlyMap<Spans, Answer>> {
    const { workspaceId, projectId, bytesMax } = of;
    const { bodies, found } = await lane.run(workspaceId, async () => {
      const bodies = bodiesOf();
      return { bodies, found: await finder.find(projectId, bodies.flat(), bytesMax) };
    });
    if (found !== undefined || bodies.length === 1) return new Map(bodies.map((spans) => [spans, found]));
    const middle = Math.ceil(bodies.length / 2);
    const halves = [bodies.slice(0, middle), bodies.slice(middle)];
    const answers = await Promise.all(halves.map((half) => findAll(of, () => half)));
    return new Map(answers.flatMap((half) => [...half]));
  }

  async function pauseAfter({ answers }: LookUp): Promise<void> {
    const beganAtMs = performance.now();
    await answers.catch(() => undefined);
    const tookMs = performance.now() - beganAtMs;
    await delay(Math.max(pauseMs - tookMs, Math.min(restsPerLookUp * tookMs, restMsMax)));
  }

  function join(of: Asked, spans: Spans): LookUp {
    const { projectId } = of;
    const last = waiting.get(projectId);
    if (last !== undefined && last.spans + spans.length <= spansMax) {
      last.bodies.push(spans);
      last.spans += spans.length;
      return last;
    }
    const lookUp: LookUp = { bodies: [spans], spans: spans.length, answers: begin() };
    async function begin() {
      await pauses.get(projectId);
      return findAll(of, () => {
        const pause = pauseAfter(lookUp);
        pauses.set(projectId, pause);
        void pause.then(() => pauses.get(projectId) === pause && pauses.delete(projectId));
        if (waiting.get(projectId) === lookUp) waiting.delete(projectId);
        return lookUp.bodies;
      });
    }

    waiting.set(projectId, lookUp);
    return lookUp;
  }

  return (workspaceId) => ({
    mayHave: finder.mayHave,
    async find(projectId, spans, bytesMax) {
      const body = [...spans];
      const { answers } = join({ workspaceId, projectId, bytesMax }, body);
      return (await answers).get(body);
    },
  });
}
