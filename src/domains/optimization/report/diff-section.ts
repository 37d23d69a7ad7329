import { cutText, type Html, html } from './html.ts';

const charsMax = 60_000;

const kinds: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'hunk' };

/** Returns a unified diff with its lines marked. */
export function diffSection(diff: string | null): Html {
  if (diff === null) return html`<p>The service has no time to compare the prompts now. Load the page again.</p>`;
  if (diff === '') return html`<p>The text of the prompt is unchanged.</p>`;
  const lines = cutText(diff, charsMax).split('\n');
  const marked = lines.map((line) => html`<span class="${kinds[line[0] ?? ''] ?? 'same'}">${line}</span>\n`);
  return html`<pre class="diff">${marked}</pre>`;
}
