import type { Outcome } from '../../prompt-search/index.ts';
import type { Run } from '../run.ts';
import { type Html, html } from './html.ts';

const verdicts: Readonly<Record<Outcome, string>> = {
  improved: 'The new prompt is better on rows that the search never saw.',
  no_improvement: 'The search found nothing that is better than the prompt.',
  inconclusive: 'The difference may be chance. The rows do not tell which prompt is better.',
  already_optimal: 'The prompt is right on every row that it was tried on, so nothing was searched.',
};

const states: Readonly<Record<Exclude<Run['state'], 'completed'>, string>> = {
  queued: 'The run has not begun.',
  running: 'The run has not ended. This page shows what it has so far.',
  cancelling: 'The run is being cancelled. This page shows what it has so far.',
  cancelled: 'The run was cancelled before it could compare the prompts on the holdout.',
  failed: 'The run failed before it could compare the prompts on the holdout.',
};

/** Returns what the run found, in one sentence, and why it failed. */
export function verdict({ state, outcome, error }: Run): Html {
  const text = state === 'completed' ? verdicts[outcome ?? 'inconclusive'] : states[state];
  return html`<p class="verdict ${outcome ?? state}">${text}</p>
${error === null ? '' : html`<p>${error.code}: ${error.message}</p>`}`;
}
