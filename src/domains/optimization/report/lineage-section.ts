import { formatScore } from './format.ts';
import { cutText, type Html, html } from './html.ts';
import type { ShownCandidate } from './report-data.ts';

/** Candidates that are shown. */
export const shownCandidatesMax = 300;
const depthMax = 16;
const textCharsMax = 300;

const statuses: Readonly<Record<ShownCandidate['status'], string>> = {
  pool: 'in the pool',
  raced_out: 'dropped while it was evaluated',
  rejected_gate: 'not better on its batch',
  rejected_invalid: 'not valid',
};

/** Returns the candidates as a tree: each below the candidate that it was made from. */
export function lineageSection(
  candidates: readonly ShownCandidate[],
  { bestId, hasMore }: { bestId: string | undefined; hasMore: boolean },
): Html {
  if (candidates.length === 0) return html`<p>The run has no candidates yet.</p>`;
  const rows = inTreeOrder(candidates).map(
    ({ candidate, depth }) => html`<tr class="${candidate.id === bestId ? 'best' : candidate.status}">
<td class="tree">${depth === 0 ? '' : `${'│ '.repeat(Math.min(depth, depthMax) - 1)}└ `}${candidate.id}${candidate.id === bestId ? ' ★' : ''}</td>
<td>${candidate.origin}</td><td>${candidate.iteration}</td><td>${statuses[candidate.status]}</td>
<td>${batchOf(candidate)}</td><td>${formatScore(candidate.val?.mean)}${candidate.val === null ? '' : ` (${candidate.val.n})`}</td>
<td>${candidate.promptTokens}</td>
<td>${cutText(candidate.rejectReason ?? candidate.hypothesis ?? '', textCharsMax)}</td></tr>`,
  );
  return html`<table><thead><tr><th>candidate</th><th>origin</th><th>iteration</th><th>status</th>
<th>batch before → after</th><th>validation (rows)</th><th>tokens</th><th>what was changed, or why it was refused</th></tr></thead>
<tbody>${rows}</tbody></table>
${hasMore ? html`<p>The run has more candidates. The API lists all of them.</p>` : ''}`;
}

const batchOf = ({ minibatch }: ShownCandidate) =>
  minibatch === null ? '–' : `${formatScore(minibatch.before)} → ${formatScore(minibatch.after)}`;

interface Placed {
  candidate: ShownCandidate;
  depth: number;
}

/** A candidate whose parent is not shown stands on its own. No recursion, because a tree can be a long chain. */
function inTreeOrder(candidates: readonly ShownCandidate[]): Placed[] {
  const shown = new Set(candidates.map(({ id }) => id));
  const children = new Map<string | undefined, ShownCandidate[]>();
  const seen = new Set<string>();
  for (const candidate of candidates) {
    // A parent came to be before its children, so there are no circles.
    const parent = candidate.parents.find((id) => shown.has(id) && seen.has(id));
    seen.add(candidate.id);
    children.set(parent, [...(children.get(parent) ?? []), candidate]);
  }
  const stack: Placed[] = placedAt(children.get(undefined), 0);
  const placed: Placed[] = [];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    placed.push(next);
    stack.push(...placedAt(children.get(next.candidate.id), next.depth + 1));
  }
  return placed;
}

const placedAt = (candidates: readonly ShownCandidate[] = [], depth: number): Placed[] =>
  candidates.map((candidate) => ({ candidate, depth })).reverse();
