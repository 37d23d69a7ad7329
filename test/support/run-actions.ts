import { expect } from 'vitest';
import { eventData } from '../../src/domains/events/event.ts';
import { newId } from '../../src/lib/ids.ts';
import { expectProblem, newKey, newProject } from './api.ts';
import {
  type CreatedRunWire,
  finishedRun,
  newOptimizablePrompt,
  type RunWire,
  useOptimizationApi,
} from './optimization.ts';
import type { WireItem } from './prompt-api.ts';
import { newUser } from './users.ts';

type Named = { run_id: string; prompt_id: string };
export type AppliedWire = WireItem & { candidate_id: string; run_id: string };

/** Starts the API for one test file about what can be done with a run. */
export function useRunActions() {
  const it = useOptimizationApi();
  const act = <T>(operationId: string, { run_id, prompt_id }: Named, body?: object) =>
    it.call<T>(operationId, prompt_id, { params: { run_id }, ...(body && { body }) });
  const completedRun = async (): Promise<CreatedRunWire> => {
    const run = await it.newRun();
    await finishedRun(it.api, it.project, run);
    return run;
  };
  return {
    it,
    completedRun,
    read: (run: Named) => act<RunWire>('getOptimizationRun', run),
    cancel: (run: Named) => act<RunWire>('cancelOptimizationRun', run),
    apply: (run: Named, body?: object) => act<AppliedWire>('applyOptimizationRun', run, body),
    rerun: (run: Named) => act<CreatedRunWire>('rerunOptimization', run),
    remove: (run: Named) => act('deleteOptimizationRun', run),
    auditOf: (run: Named) => it.api.postgres('audit_log').where('target_id', run.run_id).orderBy('id').pluck('action'),
    /** The events for webhooks, checked against their schema. */
    async eventsOf(run: Named) {
      const rows = await it.api.postgres('events').whereRaw(`data ->> 'run_id' = ?`, [run.run_id]);
      return rows.map(({ type, data }) => {
        expect(eventData['optimization.finished'].parse(data)).toEqual(data);
        return [type, data.status, data.outcome];
      });
    },
    /** Expects an operation to be refused for an unknown run, and for the run of another project. */
    async expectUnknown(operation: string) {
      const run = await completedRun();
      expectProblem(await act(operation, { ...run, run_id: newId('opt') }), 404, 'run_not_found');
      const project = await newProject(it.api);
      const { id: prompt_id } = await newOptimizablePrompt(it.api, project);
      const params = { project_id: project.id, prompt_id, run_id: run.run_id };
      expectProblem(await it.api.call(operation, { key: project.key, params }), 404, 'run_not_found');
      const { body } = await act<RunWire>('getOptimizationRun', run);
      expect(body).toMatchObject({ status: 'completed', applied_version: null });
    },
    /** Expects an operation to be refused to a key without the scope, and to a viewer. */
    async expectForbidden(operation: string) {
      const run = await completedRun();
      const params = { project_id: it.project.id, prompt_id: run.prompt_id, run_id: run.run_id };
      const { key } = await newKey(it.api, it.project.id, { scopes: ['prompts:read', 'prompts:write'] });
      expectProblem(await it.api.call(operation, { key, params }), 403, 'insufficient_scope');
      const { token } = await newUser(it.api, { workspaceId: it.project.workspaceId, role: 'viewer' });
      expectProblem(await it.api.call(operation, { token, params }), 403, 'insufficient_role');
    },
  };
}
