import { type Html, html } from '../../src/domains/optimization/report/html.ts';
import { round } from '../statistics.ts';

/** One line: values in ms by number of spans, in order. */
export interface Line {
  name: 'at rest' | 'while fed';
  points: readonly { spans: number; ms: number }[];
}

const size = { width: 320, height: 180 };
const margin = { left: 44, right: 12, top: 12, bottom: 34 };

/** Draws how values grow with the number of spans. The horizontal axis is logarithmic, the vertical one begins at 0. */
export function lineChart(title: string, lines: readonly Line[]): Html {
  const points = lines.flatMap((line) => line.points);
  const spans = points.map((point) => point.spans);
  const [least, most] = [Math.min(...spans), Math.max(...spans)];
  const msMax = 1.1 * Math.max(1, ...points.map(({ ms }) => ms));
  const across = size.width - margin.left - margin.right;
  const x = (count: number) =>
    round(margin.left + (across * Math.log(count / least)) / Math.max(1e-9, Math.log(most / least)), 1);
  const y = (ms: number) =>
    round(size.height - margin.bottom - (ms / msMax) * (size.height - margin.top - margin.bottom), 1);
  const grid = [0, 0.5, 1].map((part) => {
    const ms = part * msMax;
    return html`<line class="grid" x1="${margin.left}" x2="${size.width - margin.right}" y1="${y(ms)}" y2="${y(ms)}"/>
<text class="label" x="${margin.left - 6}" y="${y(ms) + 4}">${Math.round(ms)}</text>`;
  });
  const ticks = [...new Set(spans)].map(
    (count) => html`<text class="tick" x="${x(count)}" y="${size.height - 16}">${round(count / 1e6, 1)} M</text>`,
  );
  const drawn = lines.map(({ name, points: of }) => {
    const path = of.map(({ spans: count, ms }, index) => `${index === 0 ? 'M' : 'L'}${x(count)} ${y(ms)}`).join(' ');
    const dots = of.map(({ spans: count, ms }) => html`<circle cx="${x(count)}" cy="${y(ms)}" r="3"/>`);
    return html`<g class="${name === 'at rest' ? 'rest' : 'fed'}"><path d="${path}"/>${dots}</g>`;
  });
  return html`<figure><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title}">${grid}${ticks}${drawn}</svg></figure>`;
}
