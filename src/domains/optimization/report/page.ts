import { createHash } from 'node:crypto';
import { Html, type HtmlValue, html } from './html.ts';

const style = `
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #b42318; --mark: #2f6fde; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, li, pre, small, .verdict, td:last-child { overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; }
pre { white-space: pre-wrap; margin: 0; font: 13px/1.4 ui-monospace, monospace; max-height: 24rem; overflow: auto; }
.tree { font-family: ui-monospace, monospace; white-space: pre; }
.rows td { width: 25%; }
.verdict { font-size: 1.2rem; border-left: .3rem solid var(--line); padding: .3rem .8rem; }
.verdict.improved { border-color: var(--good); } .verdict.failed { border-color: var(--bad); }
.best td { font-weight: 600; } .rejected_invalid td, .rejected_gate td, .raced_out td { opacity: .65; }
.diff { border: 1px solid var(--line); padding: .5rem; max-height: none; }
.added { color: var(--good); } .removed { color: var(--bad); } .hunk { opacity: .6; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; } svg text { fill: currentColor; }
svg .grid { stroke: var(--line); } svg .zero { stroke: currentColor; } svg .curve { fill: none; stroke: var(--mark); stroke-width: 2; }
svg .bar { stroke-width: 8; opacity: .45; } svg .before { stroke: #888; fill: #888; } svg .after { stroke: var(--mark); fill: var(--mark); }
svg .delta { stroke: var(--good); fill: var(--good); } svg .tick { text-anchor: middle; } svg .label { text-anchor: end; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');
const loadsNothing = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;

/** Content-Security-Policy of the page: no scripts, and no style but its own. */
export const pagePolicy = `${loadsNothing}; frame-ancestors 'none'; sandbox`;

/** Returns a complete page. It has its policy inside, for when it is opened as a file. */
export function page(title: string, content: HtmlValue): string {
  return `<!doctype html>\n${
    html`<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${loadsNothing}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>${new Html(`<style>${style}</style>`)}</head>
<body>${content}</body></html>`.markup
  }\n`;
}
