import type { Decision } from '../../prompt-search/index.ts';
import { formatScore } from './format.ts';
import { type Html, html } from './html.ts';

const shownMax = 50;

/** Returns the candidates that no other one beats in score, tokens, cost and latency together. */
export function frontierSection({ frontier, winnerId }: Decision): Html {
  const rows = frontier.slice(0, shownMax).map(
    ({ candidateId, valScore, promptTokens, costNanoUsd, latencyMs, onFrontForRows }) =>
      html`<tr class="${candidateId === winnerId ? 'best' : ''}"><td class="tree">${candidateId}</td>
<td>${formatScore(valScore)}</td><td>${promptTokens}</td><td>${costNanoUsd === null ? '–' : (costNanoUsd / 1e6).toFixed(4)}</td>
<td>${latencyMs.toFixed(0)}</td><td>${onFrontForRows}</td></tr>`,
  );
  return html`<p>Measured on the rows that the search selects by, so the scores are optimistic.</p>
<table><thead><tr><th>candidate</th><th>score</th><th>prompt tokens</th><th>USD per 1,000 calls</th><th>latency, ms</th>
<th>rows on which none is better</th></tr></thead><tbody>${rows}</tbody></table>`;
}
