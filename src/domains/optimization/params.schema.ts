import { z } from 'zod';
import { projectParams } from '../versioned/index.ts';

/** Path parameters of the runs of a prompt, of one run, and of one candidate. */
export const promptParams = projectParams.extend({
  prompt_id: z.string().min(1).max(100).meta({ description: 'Id or slug of the prompt', example: 'support-answer' }),
});
export const runParams = promptParams.extend({ run_id: z.string().min(1).max(64) });
export const candidateParams = runParams.extend({ candidate_id: z.string().min(1).max(64) });

export const promptPath = '/api/projects/{project_id}/prompts/{prompt_id}';
export const runsPath = `${promptPath}/optimization-runs` as const;
export const runPath = `${runsPath}/{run_id}` as const;

export const tag = 'optimization';
export const reading = { tag, method: 'GET', access: { scope: 'prompts:read' }, rateClass: 'read' } as const;
export const acting = { tag, access: { scope: 'optimize:run' }, rateClass: 'write' } as const;
export const runProblems = ['project_not_found', 'prompt_not_found', 'run_not_found'] as const;
