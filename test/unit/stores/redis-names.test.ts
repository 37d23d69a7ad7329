import { describe, expect, test } from 'vitest';
import { ingestLanes } from '../../../src/queue/ingest-lanes.ts';
import { jobCatalog } from '../../../src/queue/job-catalog.ts';
import * as names from '../../../src/stores/redis/names.ts';

const workspace = 'wsp_01m8cewqkea94p4k701nmvwby9';
const project = 'prj_01m8cewqkea94p4k701nmvwby9';
const month = { name: '2026-11' };

/** The part of a key that decides its node (redis.io, "Redis cluster specification", "Hash tags"). */
const slotOf = (key: string) => /\{(.+?)\}/.exec(key)?.[1] ?? key;

const together: Record<string, string[]> = {
  'a body, its job and its counts': [
    names.bodyKey(project, 'b_1'),
    names.backlogKey(workspace),
    `${workspace}${names.finishedInfix}1`,
    names.laneBaseKey,
    names.memoryReserveKey,
    ...[...ingestLanes, jobCatalog.isolateBody.queue].map((queue) => `${names.queuePrefix(queue)}:${queue}:b_1`),
  ],
  'the limits of ingestion and the quotas of spans and bytes': [
    ...['ingest', 'ingest_bytes', 'ingest_spans'].map((rate) => names.rateKey(workspace, rate)),
    names.usageKey(workspace, 'spans', month),
    names.usageKey(workspace, 'ingested_bytes', month),
    names.bodyKey(project, 'b_1'),
  ],
  'the list of summaries and a job': [
    ...Object.values(names.summaryKeys(project)),
    names.summaryProjectsKey,
    `${names.queuePrefix('ingest')}:ingest:b_1`,
  ],
  'the writes of a workspace and its feedback by tokens': [
    names.rateKey(workspace, 'write'),
    names.feedbackRateKey(workspace, 'a'.repeat(32)),
  ],
};

describe('the names of keys in Redis', () => {
  test.each(Object.entries(together))('%s are on one node', (_what, keys) => {
    expect(new Set(keys.map(slotOf)).size).toBe(1);
  });

  test('the reads of two workspaces need not be on one node', () => {
    expect(slotOf(names.rateKey('wsp_a', 'read'))).not.toBe(slotOf(names.rateKey('wsp_b', 'read')));
  });

  test.each([names.bodyKey(project, 'b_1'), names.backlogKey(workspace), names.usageKey(workspace, 'spans', month)])(
    '%s begins with the tenant',
    (key) => expect(key).toMatch(/^(wsp|prj)_/),
  );

  test('a body is found by its key, and no other key is one', () => {
    expect(names.parseBodyKey(names.bodyKey(project, 'b_1'))).toEqual({ projectId: project, jobId: 'b_1' });
    for (const key of together['the list of summaries and a job'] ?? [])
      expect(names.parseBodyKey(key)).toBeUndefined();
  });

  test.each(['spans', 'optimization_runs', 'ingested_bytes'])(
    'the workspace of a counter of %s is found by its key',
    (quota) => {
      expect(names.workspaceOfUsageKey(names.usageKey(workspace, quota, month))).toBe(workspace);
    },
  );
});
