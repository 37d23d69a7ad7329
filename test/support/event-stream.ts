import type { ProjectOfTest, TestApi } from './api.ts';

export interface ServerEvent {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

export interface EventStream {
  status: number;
  headers: Headers;
  /** Events that have arrived. */
  events: ServerEvent[];
  /** What has arrived, as it is. */
  text(): string;
  /** Resolves when the service has ended the stream, and rejects if it was cut off. */
  ended: Promise<void>;
  leave(): void;
}

/** Follows a run. */
export async function followRun(
  api: TestApi,
  project: Pick<ProjectOfTest, 'id' | 'key'>,
  { run_id, prompt_id, lastEventId }: { run_id: string; prompt_id: string; lastEventId?: string },
): Promise<EventStream> {
  const path = `/api/projects/${project.id}/prompts/${prompt_id}/optimization-runs/${run_id}/events`;
  const leaving = new AbortController();
  const response = await fetch(`${api.url}${path}`, {
    headers: { 'X-API-Key': project.key, ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }) },
    signal: leaving.signal,
  });
  const events: ServerEvent[] = [];
  let text = '';
  const read = async () => {
    let rest = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) if (block.startsWith('id: ')) events.push(toEvent(block));
    }
  };
  const ended = read();
  ended.catch(() => undefined);
  const { status, headers } = response;
  return { status, headers, events, text: () => text, ended, leave: () => leaving.abort() };
}

function toEvent(block: string): ServerEvent {
  const fields = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
  );
  return { id: fields.get('id') ?? '', event: fields.get('event') ?? '', data: JSON.parse(fields.get('data') ?? '{}') };
}
