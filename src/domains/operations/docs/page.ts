import { createHash } from 'node:crypto';
import { type Document, documentSchema, type OperationOfDocument } from './document.ts';
import { type Html, html, prose } from './html.ts';
import { operationSection } from './operation-section.ts';
import { styles } from './styles.ts';

/**
 * Content-Security-Policy of the page: it loads nothing, runs no script, and allows exactly this
 * style.
 */
export const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(styles).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Renders the OpenAPI document as one HTML page that needs no script.
 * @throws ZodError for a document that is not ours
 */
export function docsPage(openapi: object): string {
  const document = documentSchema.parse(openapi);
  const { title, version, description } = document.info;
  const groups = document.tags.map(({ name }) => ({ name, operations: operationsOf(document, name) }));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${version}</title>
<style>${{ markup: styles }}</style>
</head>
<body>
<nav>
<p><a href="#top"><b>${title}</b></a> ${version}</p>
${groups.map(navigation)}
<p><a href="#codes">Error codes</a></p>
<p><a href="/api/openapi.json">OpenAPI document</a></p>
</nav>
<main id="top">
<h1>${title} API</h1>
${description.split('\n\n').map(
  (paragraph) => html`<p>${prose(paragraph)}</p>
`,
)}
${groups.map(
  ({ name, operations }) => html`<h2 id="tag-${name}">${name}</h2>
${operations.map(([method, path, operation]) => operationSection(document, method, path, operation))}`,
)}
${codesTable(document)}
</main>
</body>
</html>
`.markup;
}

type Listed = readonly [method: string, path: string, operation: OperationOfDocument];

function operationsOf(document: Document, tag: string): Listed[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]): Listed[] =>
      operation.tags.includes(tag) ? [[method, path, operation]] : [],
    ),
  );
}

function navigation({ name, operations }: { name: string; operations: readonly Listed[] }): Html {
  const links = operations.map(
    ([, , { operationId, summary }]) => html`<li><a href="#${operationId}">${summary}</a></li>
`,
  );
  return html`<p><a href="#tag-${name}"><b>${name}</b></a></p>
<ul>
${links}</ul>
`;
}

function codesTable(document: Document): Html {
  const rows = Object.entries(document['x-problem-codes']).map(
    ([
      code,
      { status, title },
    ]) => html`<tr id="code-${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}</td></tr>
`,
  );
  return html`<h2 id="codes">Error codes</h2>
<table><tr><th>Code</th><th>Status</th><th></th></tr>
${rows}</table>`;
}
