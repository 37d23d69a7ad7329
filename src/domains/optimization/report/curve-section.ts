import type { Run } from '../run.ts';
import { type Html, html } from './html.ts';

const width = 640;
const height = 220;
const margin = { left: 44, right: 12, top: 12, bottom: 30 };

/** Returns the best score on the validation rows against the calls that were made. */
export function curveSection({ scoreHistory, usage }: Pick<Run, 'scoreHistory' | 'usage'>): Html {
  const first = scoreHistory[0];
  if (first === undefined) return html`<p>No candidate has a score yet.</p>`;
  const callsMax = Math.max(1, usage.calls, ...scoreHistory.map(({ call }) => call));
  const x = (call: number) => round(margin.left + (call / callsMax) * (width - margin.left - margin.right));
  const y = (score: number) => round(height - margin.bottom - score * (height - margin.top - margin.bottom));
  const steps = scoreHistory.slice(1).map(({ call, best_val }) => `H${x(call)} V${y(best_val)}`);
  const path = `M${x(first.call)} ${y(first.best_val)} ${steps.join(' ')} H${x(callsMax)}`;
  const lines = [0, 0.25, 0.5, 0.75, 1].map(
    (at) => html`<line class="grid" x1="${margin.left}" x2="${width - margin.right}" y1="${y(at)}" y2="${y(at)}"/>
<text class="label" x="${margin.left - 6}" y="${y(at) + 4}">${at}</text>`,
  );
  return html`<p>The best mean score on the rows that the search selects by. It is optimistic: only the holdout decides.</p>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Best validation score by calls">
${lines}<path class="curve" d="${path}"/>
<text class="tick" x="${x(callsMax) - 40}" y="${height - 8}">${callsMax} calls</text></svg>`;
}

const round = (value: number) => Math.round(value * 10) / 10;
