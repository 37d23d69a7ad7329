import type { Decision, Interval } from '../../prompt-search/index.ts';
import { formatInterval } from './format.ts';
import { type Html, html } from './html.ts';

const width = 640;
const left = 90;
const rowHeight = 34;

/** Returns the scores of both prompts and their difference, drawn with their intervals. */
export function intervalSection({ score }: Decision): Html {
  if (score === null) {
    return html`<p>There were too few rows for a holdout, so there is no fair comparison of the two prompts.</p>`;
  }
  const { n, split, base, best, delta } = score;
  const where =
    split === 'holdout' ? 'that the search never saw' : 'that the search selected by, so they are optimistic';
  return html`<p>${n} rows ${where}. A bar is the 95 % confidence interval, the dot the mean.</p>
${chart([
  { name: 'before', interval: base, kind: 'before' },
  { name: 'after', interval: best, kind: 'after' },
  { name: 'difference', interval: delta, kind: 'delta' },
])}
<table>
<tr><th>before</th><td>${formatInterval(base)}</td></tr>
<tr><th>after</th><td>${formatInterval(best)}</td></tr>
<tr><th>difference, row by row</th><td>${formatInterval(delta)}</td></tr>
${delta.p === null ? '' : html`<tr><th>McNemar's exact test</th><td>p = ${delta.p.toPrecision(2)}</td></tr>`}
</table>`;
}

interface Bar {
  name: string;
  interval: Interval;
  kind: 'before' | 'after' | 'delta';
}

function chart(all: readonly Bar[]): Html {
  const bars = all.filter(({ interval: { mean, ci95 } }) => [mean, ...ci95].every(Number.isFinite));
  const ends = bars.flatMap(({ interval: { mean, ci95 } }) => [mean, ...ci95]);
  const [low, high] = [Math.min(0, ...ends), Math.max(1, ...ends)];
  const x = (value: number) => Math.round(left + ((value - low) / (high - low)) * (width - left - 20));
  const height = bars.length * rowHeight + 24;
  const drawn = bars.map(({ name, interval: { mean, ci95 }, kind }, index) => {
    const y = rowHeight * (index + 0.5);
    return html`<text x="4" y="${y + 4}">${name}</text>
<line class="bar ${kind}" x1="${x(ci95[0])}" x2="${x(ci95[1])}" y1="${y}" y2="${y}"/>
<circle class="${kind}" cx="${x(mean)}" cy="${y}" r="5"/>`;
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(
    (at) => html`<line class="${at === 0 ? 'zero' : 'grid'}" x1="${x(at)}" x2="${x(at)}" y1="0" y2="${height - 20}"/>
<text class="tick" x="${x(at)}" y="${height - 6}">${at}</text>`,
  );
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Scores before and after, and their difference">
${ticks}${drawn}</svg>`;
}
