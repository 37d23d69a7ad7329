import { type ModelDefaults, requireEndpoint } from './resolve-config.ts';
import { listRows } from './row-store.ts';
import { isActive, notTerminal, type Run, unknownRun } from './run.ts';
import { findRun } from './run-store.ts';
import { requireStart, type Starting, type StartRunDeps, startRun } from './start-run.ts';

/**
 * Starts a run with the config and the rows of one that has ended.
 * @throws NotFoundError, ConflictError `run_not_terminal`, InvalidError `model_not_configured`, and the errors of {@link startRun}
 */
export async function rerun(
  deps: StartRunDeps & { models: ModelDefaults },
  { runId, prompt, ...starting }: Omit<Starting, 'run'> & { runId: string; prompt: Starting['run']['prompt'] },
): Promise<Run> {
  const { projectId } = starting.project;
  const earlier = await findRun(deps.postgres, { projectId, promptId: prompt.id, id: runId });
  if (earlier === undefined) throw unknownRun(runId);
  if (isActive(earlier)) throw notTerminal(earlier);
  requireEndpoint(deps.models);
  await requireStart(deps, starting, prompt.id);
  const { baseVersion, config, options, plan } = earlier;
  const rows = await listRows(deps.postgres, earlier);
  const warnings = [{ code: 'rerun', message: `This run repeats ${earlier.id} with the same rows and settings.` }];
  return startRun(deps, { ...starting, run: { prompt, rows, baseVersion, config, options, plan, warnings } });
}
