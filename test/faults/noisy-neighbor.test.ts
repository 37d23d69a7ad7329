import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { summaryProjects } from '../../src/queue/summary-list.ts';
import { newTraceId, tracesBody, tracesHeaders } from '../support/noise/attack-bodies.ts';
import { type AttackName, attacks } from '../support/noise/attacks.ts';
import { describeFigures, heldUp, isExact, noticed } from '../support/noise/criterion.ts';
import { loopDelayOf, loopDelayPreload } from '../support/noise/loop-delays.ts';
import { prepareAttack } from '../support/noise/start-attack.ts';
import { readTicks, stolenPercent } from '../support/noise/stolen-time.ts';
import { figuresOf, type Samples, Victim } from '../support/noise/victim.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { completion, type ScriptedModel, startScriptedModel } from '../support/scripted-model.ts';
import { post } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const quietMs = isExact ? 40_000 : 4_000;
/**
 * A service that has stored nothing yet answers faster than it ever will again: what attacks store
 * would count as their doing.
 */
const bodiesBefore = isExact ? 200 : 4;
const tracesPerBody = 250;
/**
 * Before every attack: what the service has stored by then, and what else the machine does, belong
 * to the quiet figures as well.
 */
const quietAgainMs = isExact ? 8_000 : 0;
/**
 * In thirty seconds there are some ninety reads of a kind: a 95th percentile of half as many
 * differs by a fifth from run to run.
 */
const attackMs = isExact ? 30_000 : 2_000;
/** What the attacker has left behind in the queue when it is ended. */
const drainMsMax = 120_000;
/**
 * While other machines on the host have more of the processors than this, figures are theirs; exact
 * ones are then taken again.
 */
const stolenPercentMax = 3;
const triesMax = isExact ? 4 : 1;
/** Every response of the model that optimizations call: a pattern can take long for random letters. */
const modelOutput = Array.from(randomBytes(60_000), (byte) => (byte % 2 === 0 ? 'a' : 'b')).join('');

/** One workspace attacks, another works: one criterion for all attacks, see `attacks.ts` for the table. */
describe('while another workspace', () => {
  let stack: Stack;
  let model: ScriptedModel;
  let revived: (() => number)[] = [];
  let attackerId: string;
  let victim: Victim;
  const quiet: Samples[] = [];
  const delaysDirectory = mkdtempSync(join(tmpdir(), 'promptlane-loop-delays-'));

  beforeAll(async () => {
    const preload = [loopDelayPreload];
    model = await startScriptedModel([completion(modelOutput)]);
    stack = await startStack({
      apiPreload: preload,
      workerPreload: preload,
      env: {
        ...{ LOOP_DELAY_DIR: delaysDirectory, TMPDIR: tmpdir(), WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' },
        LLM_BASE_URL: model.url,
      },
    });
    // One attack that ends a process must not decide what becomes of the next.
    revived = [stack.api.keepAlive(), stack.worker.keepAlive()];
    const [victimId, attackersId] = await Promise.all([
      stack.createWorkspace('victim', 'enterprise'),
      stack.createWorkspace('attacker', 'enterprise'),
    ]);
    attackerId = attackersId;
    await storeTraces(await stack.createProject('before', attackersId));
    victim = new Victim(stack, await stack.createProject('victim', victimId));
    await victim.prepare();
    await measureQuiet(quietMs);
  });
  afterAll(async () => {
    for (const end of revived) end();
    await stack?.stop();
    await model?.close();
    rmSync(delaysDirectory, { recursive: true, force: true });
  });

  // The next attack begins on a quiet service, whatever became of this one.
  afterEach(untilSettled);

  it.each(Object.keys(attacks) as AttackName[])('sends %s, a workspace notices nothing', async (name) => {
    showLogsOnFailure(stack);
    const pids = [stack.api.pid, stack.worker.pid];
    const project = await stack.createProject(name, attackerId);
    const target = { apiUrl: stack.apiUrl, projectId: project.id, apiKey: project.apiKey };
    const attack = await prepareAttack({ name, target });
    await untilSettled();
    if (quietAgainMs > 0) await measureQuiet(quietAgainMs);
    attack.begin();
    const { samples, delays } = await measure(name, attackMs).finally(() => attack.end());

    expect([
      ...noticed(figuresOf(quiet), figuresOf([samples])),
      ...heldUp('API', delays.api),
      ...heldUp('worker', delays.worker),
    ]).toEqual([]);
    expect([stack.api.pid, stack.worker.pid]).toEqual(pids);
    await untilSettled();
    expect(await quarantinedOf(victim.project.id)).toEqual([]);
    await expectExactlyOnce(stack, victim.project, victim.log);
  });

  async function storeTraces({ apiKey }: Project): Promise<void> {
    for (let stored = 0; stored < bodiesBefore; stored++) {
      const spans = Array.from({ length: tracesPerBody }, () => ({ traceId: newTraceId() }));
      const answer = await post(stack.apiUrl, apiKey, { bytes: tracesBody(spans), headers: tracesHeaders });
      expect(answer.status).toBe(200);
    }
    await untilSettled();
  }

  async function measureQuiet(forMs: number): Promise<void> {
    const { samples, isOurs } = await measure('quiet', forMs);
    expect(samples.failures).toEqual([]);
    if (isOurs || quiet.length === 0) quiet.push(samples);
    console.log(`quiet so far: ${describeFigures(figuresOf(quiet))}`);
  }

  /** Until all that was sent is stored and summed up. */
  async function untilSettled(): Promise<void> {
    await stack.untilIdle(drainMsMax);
    await until('nothing waits to be summed up', drainMsMax, async () => {
      const projects = await summaryProjects(stack.redis);
      return projects.length === 0;
    });
  }

  async function measure(name: string, forMs: number) {
    for (let tries = 1; ; tries++) {
      const ticks = readTicks();
      const startedAtMs = Date.now();
      const samples = await victim.measure(forMs);
      const delays = {
        api: loopDelayOf(delaysDirectory, 'api', startedAtMs),
        worker: loopDelayOf(delaysDirectory, 'worker', startedAtMs),
      };
      const stolen = stolenPercent(ticks);
      const where = `event loops ${JSON.stringify(delays)}; stolen ${stolen.toFixed(1)} %`;
      console.log(`${name}: ${describeFigures(figuresOf([samples]))}; ${where}`);
      const isOurs = stolen <= stolenPercentMax;
      if (isOurs || tries === triesMax) return { samples, delays, isOurs };
    }
  }

  async function quarantinedOf(projectId: string): Promise<unknown[]> {
    const response = await fetch(`${stack.apiUrl}/api/quarantine?limit=100`, {
      headers: { 'X-Admin-Key': stack.adminKey },
    });
    const { data } = (await response.json()) as { data: { project_id: string }[] };
    return data.filter((entry) => entry.project_id === projectId);
  }
});
