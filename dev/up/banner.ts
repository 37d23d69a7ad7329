import { randomBytes } from 'node:crypto';
import { demoModelUrl } from './config.ts';
import type { Connection } from './connection-file.ts';

/**
 * Returns the text that `up` prints when all processes run: the address, and commands to paste into
 * another terminal.
 */
export function banner(connection: Connection, logsDir: string): string {
  const { url, api_key, project_id } = connection;
  return `
  Promptlane runs at ${url}

    API key   ${api_key}
    project   ${project_id}
    logs      ${logsDir}/<name>.log

  Send a span:

${sendSpan(url, api_key)}

  See it:

curl -s '${url}/api/projects/${project_id}/executions' -H 'X-API-Key: ${api_key}'

  Or point any OpenTelemetry exporter here:

export OTEL_EXPORTER_OTLP_ENDPOINT=${url}/api
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=${api_key}
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf

  ${optimize(connection)}

  Ctrl-C stops everything.
`;
}

function optimize({ llm_base_url }: Connection): string {
  if (llm_base_url !== demoModelUrl)
    return `Optimizations call the models of ${new URL(llm_base_url).host} (LLM_BASE_URL).`;
  return `See how a prompt is optimized, with a simulated model, because LLM_BASE_URL is not set:

npm run demo:optimize`;
}

/** The shell inserts the time, so the command works at any time. */
function sendSpan(url: string, apiKey: string): string {
  const now = `'$(($(date +%s)-1))'`;
  const span = {
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    name: 'chat gpt-4o-mini',
    kind: 3,
    startTimeUnixNano: `${now}000000000`,
    endTimeUnixNano: `${now}420000000`,
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.provider.name', value: { stringValue: 'openai' } },
      { key: 'gen_ai.request.model', value: { stringValue: 'gpt-4o-mini' } },
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '120' } },
      { key: 'gen_ai.usage.output_tokens', value: { intValue: '48' } },
    ],
  };
  const body = JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'hello' } }] },
        scopeSpans: [{ spans: [span] }],
      },
    ],
  });
  return `curl -s '${url}/api/v1/traces' -H 'X-API-Key: ${apiKey}' -H 'Content-Type: application/json' -d '${body}'`;
}
