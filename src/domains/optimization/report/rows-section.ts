import { formatScore } from './format.ts';
import { cutText, type Html, html } from './html.ts';
import type { ComparedRow, RowOutcome, WorstRows } from './report-data.ts';

const textCharsMax = 1_000;

/** Returns the rows on which the old prompt, and those on which the new one, did worst. */
export function rowsSection({ split, before, after }: WorstRows): Html {
  if (before.length === 0 && after.length === 0) return html`<p>No rows have been compared yet.</p>`;
  const where = split === 'holdout' ? 'holdout' : 'validation rows';
  return html`<p>Of the ${where}.</p>
<h3>Worst before</h3>${table(before)}
<h3>Worst after</h3>${table(after)}`;
}

function table(rows: readonly ComparedRow[]): Html {
  const body = rows.map(
    (row) => html`<tr><td><pre>${cutText(row.inputs, textCharsMax)}</pre></td>
<td><pre>${row.expected === null ? '' : cutText(row.expected, textCharsMax)}</pre></td>
${outcome(row.before)}${outcome(row.after)}</tr>`,
  );
  return html`<table class="rows"><thead><tr><th>inputs</th><th>expected</th><th>before</th><th>after</th></tr></thead>
<tbody>${body}</tbody></table>`;
}

function outcome({ score, output, feedback }: RowOutcome): Html {
  return html`<td><b>${formatScore(score)}</b><pre>${cutText(output ?? '', textCharsMax)}</pre>
<small>${cutText(feedback ?? '', textCharsMax)}</small></td>`;
}
