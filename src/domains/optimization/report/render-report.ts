import { formatUsd } from '../../../lib/money.ts';
import type { Decision } from '../../prompt-search/index.ts';
import type { Run } from '../run.ts';
import { curveSection } from './curve-section.ts';
import { diffSection } from './diff-section.ts';
import { formatDifference, formatInterval } from './format.ts';
import { frontierSection } from './frontier-section.ts';
import { cutText, type Html, html } from './html.ts';
import { intervalSection } from './interval-section.ts';
import { lineageSection } from './lineage-section.ts';
import { page } from './page.ts';
import type { Report } from './report-data.ts';
import { rowsSection } from './rows-section.ts';
import { verdict } from './verdict.ts';

const warningCharsMax = 500;

/**
 * Returns the report of a run as one HTML page that loads nothing and runs no script. All texts are
 * escaped and cut, so that the page has at most about 3 MB.
 */
export function renderReport({ promptName, run, candidates, hasMoreCandidates, bestId, diff, rows }: Report): string {
  const { decision, warnings } = run;
  return page(`Optimization of ${promptName}`, [
    html`<h1>Optimization of ${promptName}, version ${run.baseVersion}</h1>`,
    verdict(run),
    decision === null ? '' : html`<h2>Score</h2>${intervalSection(decision)}${secondary(decision)}`,
    html`<h2>Changes of the prompt</h2>${diffSection(diff)}`,
    html`<h2>Rows</h2>${rowsSection(rows)}`,
    html`<h2>Search</h2>${curveSection(run)}`,
    html`<h2>Candidates</h2>${lineageSection(candidates, { bestId, hasMore: hasMoreCandidates })}`,
    decision === null ? '' : html`<h2>Frontier</h2>${frontierSection(decision)}`,
    html`<h2>Run</h2>${facts(run)}`,
    warnings.length === 0
      ? ''
      : html`<h2>Warnings</h2><ul>${warnings.map(({ code, message }) => html`<li>${code}: ${cutText(message, warningCharsMax)}</li>`)}</ul>`,
  ]);
}

function secondary({ delta }: Decision): Html {
  const rows = [
    ['prompt tokens', delta.promptTokens && formatInterval(delta.promptTokens, 1)],
    ['output tokens', delta.outputTokens && formatInterval(delta.outputTokens, 1)],
    ['USD per 1,000 calls', delta.costPer1kCallsUsd && formatInterval(delta.costPer1kCallsUsd, 4)],
    ['median latency, ms', delta.latencyMsP50 === null ? null : formatDifference(delta.latencyMsP50, 0)],
    ['95th percentile of latency, ms', delta.latencyMsP95 === null ? null : formatDifference(delta.latencyMsP95, 0)],
  ] as const;
  const known = rows.filter(([, text]) => text !== null);
  if (known.length === 0) return html``;
  return html`<h3>Other differences</h3>
<table>${known.map(([name, text]) => html`<tr><th>${name}</th><td>${text}</td></tr>`)}</table>`;
}

function facts({ id, config, plan, usage, finishReason, state, createdAt, finishedAt, appliedVersion }: Run): Html {
  const { train, val, holdout, dropped } = plan.rows;
  const rows = [
    ['run', id],
    ['status', finishReason === null ? state : `${state} (${finishReason})`],
    ['algorithm, seed', `${config.algorithm}, ${config.seed}`],
    ['models', `${config.target.model}; proposals: ${config.reflection.model}`],
    ['rows', `${train} for training, ${val} for validation, ${holdout} in the holdout, ${dropped} dropped`],
    [
      'calls',
      `${usage.calls}: ${usage.taskCalls} of the prompt, ${usage.reflectCalls} for proposals, ${usage.judgeCalls} of judges`,
    ],
    ['tokens', `${usage.inputTokens} in, ${usage.outputTokens} out${usage.estimated ? ' (partly estimated)' : ''}`],
    ['cost', plan.estimated_cost_usd === null ? 'unknown' : `${formatUsd(usage.costNanoUsd)} USD`],
    ['created', createdAt.toISOString()],
    ['finished', finishedAt?.toISOString() ?? '–'],
    ['applied as version', appliedVersion ?? '–'],
  ] as const;
  return html`<table>${rows.map(([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`)}</table>`;
}
