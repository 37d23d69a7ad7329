import { Html, html } from '../../src/domains/optimization/report/html.ts';
import type { LatencySummary } from '../statistics.ts';
import { lineChart } from './line-chart.ts';

const style = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; } th, td { border-bottom: 1px solid #8884; padding: .2rem .8rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } pre { overflow: auto; font-size: 12px; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: 1rem; } figure { margin: 0; }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; } svg .grid { stroke: #8884; } svg .label { text-anchor: end; }
svg .tick { text-anchor: middle; } svg path { fill: none; stroke-width: 2; } .rest path, .rest circle { stroke: #888; }
.fed path, .fed circle { stroke: #2f6fde; } .rest circle { fill: #888; } .fed circle { fill: #2f6fde; }
`;

/** The report of a run, as `npm run bench` prints it. */
export interface Report {
  at: string;
  machine: object;
  versions: object;
  scenarios: Readonly<Record<string, object>>;
}

interface Size {
  spans: number;
  at_rest: Readonly<Record<string, LatencySummary>>;
  while_fed: Readonly<Record<string, LatencySummary>>;
}

/** Returns a report as one page that loads nothing: the growth of reads as plots, every other scenario as a table. */
export function renderReport(report: Report): string {
  const { growth, ...others } = report.scenarios;
  const page = html`<!doctype html><html lang="en"><meta charset="utf-8"><title>Promptlane bench ${report.at}</title>
<style>${new Html(style)}</style><h1>Promptlane bench</h1>
<p>${report.at}. ${JSON.stringify(report.machine)} ${JSON.stringify(report.versions)}</p>
${growth === undefined ? null : growthSection((growth as { sizes: readonly Size[] }).sizes)}
${Object.entries(others).map(([name, result]) => html`<h2>${name}</h2>${figuresTable(result)}`)}</html>`;
  return page.markup;
}

function growthSection(sizes: readonly Size[]): Html {
  const names = Object.keys(sizes[0]?.while_fed ?? {});
  const charts = names.map((name) =>
    lineChart(`${name}, p95 in ms`, [
      { name: 'at rest', points: sizes.map(({ spans, at_rest }) => ({ spans, ms: at_rest[name]?.p95_ms ?? 0 })) },
      { name: 'while fed', points: sizes.map(({ spans, while_fed }) => ({ spans, ms: while_fed[name]?.p95_ms ?? 0 })) },
    ]),
  );
  const cells = (name: string) =>
    sizes.map(
      ({ at_rest, while_fed }) =>
        html`<td>${at_rest[name]?.p50_ms}, ${at_rest[name]?.p95_ms}</td><td>${while_fed[name]?.p50_ms}, ${while_fed[name]?.p95_ms}</td>`,
    );
  return html`<h2>Growth of reads</h2><p>Gray: at rest. Blue: while 2,000 spans arrive per second. The table has p50 and p95 in ms.</p>
<div class="charts">${charts}</div>
<table><tr><th>read</th>${sizes.map(({ spans }) => html`<th>${spans} spans</th><th>fed</th>`)}</tr>
${names.map((name) => html`<tr><td>${name}</td>${cells(name)}</tr>`)}</table>`;
}

/** Shows every number and text of a result with its path. */
function figuresTable(result: object): Html {
  const rows = [...leavesOf(result)].map(([path, value]) => html`<tr><td>${path}</td><td>${value}</td></tr>`);
  return html`<table>${rows}</table>`;
}

function* leavesOf(value: object, path = ''): Generator<[string, string]> {
  for (const [name, item] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    if (typeof item === 'object' && item !== null) yield* leavesOf(item, at);
    else yield [at, String(item)];
  }
}
