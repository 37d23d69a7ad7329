import { curlOf } from './curl.ts';
import type { Document, OperationOfDocument } from './document.ts';
import { type Html, html, prose } from './html.ts';
import { schemaRows, typeText } from './schema-rows.ts';

/** Renders the documentation of one operation. */
export function operationSection(
  document: Document,
  method: string,
  path: string,
  operation: OperationOfDocument,
): Html {
  const resolve = (reference: string) => document.components.schemas[reference.replace('#/components/schemas/', '')];
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  return html`<section id="${operationId}">
<h3>${summary}</h3>
<p class="route"><b class="${method}">${method.toUpperCase()}</b> <code>${path}</code></p>
${description === undefined ? undefined : html`<p>${prose(description)}</p>`}
<p class="access">${prose(accessText(operation))}</p>
${parameters.length === 0 ? undefined : parametersTable(parameters, resolve)}
${requestBody && html`<h4>Body${requestBody.required ? '' : ' (may be left out)'}</h4>${contents(requestBody.content, resolve)}`}
<h4>Try it</h4>
<pre>${curlOf(method, path, operation)}</pre>
<h4>Answers</h4>
${Object.entries(responses).map(([status, response]) => answer(document, status, response, resolve))}
</section>
`;
}

type Resolve = (reference: string) => unknown;
type Answer = OperationOfDocument['responses'][string];

const names: Readonly<Record<string, string>> = {
  apiKey: 'an API key (`X-API-Key`)',
  bearer: "a user's token (`Authorization: Bearer`)",
  adminKey: "the operator's key (`X-Admin-Key`)",
};

function accessText({ security, 'x-promptlane-access': { scope, role } }: OperationOfDocument): string {
  if (security.length === 0) return 'Open: needs no credentials.';
  const by = security.flatMap((requirement) => Object.keys(requirement)).map((name) => names[name] ?? name);
  const ofKey = scope === undefined ? '' : ` A key needs the scope \`${scope}\`.`;
  const ofUser = role === undefined ? '' : ` A user needs the role \`${role}\` or a higher one.`;
  return `Needs ${by.join(' or ')}.${ofKey}${ofUser}`;
}

function parametersTable(parameters: OperationOfDocument['parameters'], resolve: Resolve): Html {
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) => html`<tr>
<td><code>${name}</code>${required ? ' *' : ''}</td><td>${place}</td><td>${typeText(schema, resolve)}</td><td>${prose(description)}</td></tr>
`,
  );
  return html`<h4>Parameters</h4>
<table><tr><th>Name</th><th>In</th><th>Type</th><th></th></tr>
${rows}</table>`;
}

function contents(content: Answer['content'], resolve: Resolve): Html {
  const parts = Object.entries(content).map(([type, { schema, example }]) => {
    const rows = schemaRows(schema, resolve).map(
      (
        row,
      ) => html`<tr><td><code>${row.path}</code>${row.required ? ' *' : ''}</td><td>${row.type}</td><td>${prose(row.description)}</td></tr>
`,
    );
    const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
    return html`<p><code>${type}</code></p>
${
  rows.length === 0
    ? undefined
    : html`<table><tr><th>Field</th><th>Type</th><th></th></tr>
${rows}</table>`
}
${example === undefined ? undefined : html`<pre>${text}</pre>`}`;
  });
  return html`${parts}`;
}

function answer(document: Document, status: string, response: Answer, resolve: Resolve): Html {
  const { 'x-problem-codes': codes, headers } = response;
  const own = Object.fromEntries(Object.entries(response.content).filter(([, { example }]) => example !== undefined));
  const problems = codes.map((code) => {
    const title = document['x-problem-codes'][code]?.title ?? '';
    return html`<li><a href="#code-${code}"><code>${code}</code></a> ${title}</li>
`;
  });
  return html`<details${status.startsWith('2') ? html` open` : undefined}><summary><b>${status}</b> ${codes.length > 0 ? `${codes.length} codes` : response.description}</summary>
<p>Headers: ${Object.keys(headers).join(', ')}</p>
${contents(own, resolve)}
${
  problems.length === 0
    ? undefined
    : html`<ul>
${problems}</ul>`
}</details>
`;
}
