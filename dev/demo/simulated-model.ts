import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { chooseQueue, rules, statedRules } from './tickets.ts';

const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
});

/** So that the progress can be watched. */
const latencyMs = 40;
const charsPerToken = 4;
/** Of so many proposals, one loses the variable, as real models sometimes do. The run must refuse it. */
const badEvery = 5;

export interface SimulatedModel {
  /** Requests that were answered. */
  answered(): number;
  close(): Promise<void>;
}

/**
 * Serves a simulated model with OpenAI's API on loopback. It sorts tickets by the rules that the prompt
 * states, and it proposes a better prompt from the rows that a request shows.
 * @throws the error of the port
 */
export async function serveModel({ host, port }: { host: string; port: number }): Promise<SimulatedModel> {
  let answered = 0;
  let proposed = 0;
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (!incoming.url?.endsWith('/chat/completions'))
      return send(response, 404, { error: { message: 'no such route' } });
    const { model, messages } = requestSchema.parse(JSON.parse(Buffer.concat(chunks).toString()));
    const prompt = messages.map(({ content }) => content).join('\n');
    await delay(latencyMs);
    const content = templateIn(prompt) === undefined ? sort(prompt) : propose(prompt, ++proposed % badEvery === 0);
    answered++;
    const [input, output] = [tokensOf(prompt), tokensOf(content)];
    send(response, 200, {
      ...{ id: `chatcmpl-demo${answered}`, object: 'chat.completion', created: 0, model },
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    });
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  return {
    answered: () => answered,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const tokensOf = (text: string) => Math.ceil(text.length / charsPerToken);

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers a rendered prompt with the queue of its ticket. */
export function sort(prompt: string): string {
  return chooseQueue(prompt, prompt.slice(prompt.lastIndexOf('Ticket:')));
}

/** Proposes a prompt with one rule more: one that explains a row with a wrong output. */
function propose(request: string, isBad: boolean): string {
  const template = templateIn(request) ?? '';
  const known = statedRules(template);
  const rule = rules.find(
    (each) =>
      !known.includes(each) &&
      rowsIn(request).some(({ text, expected }) => each.sign.test(text) && expected === each.queue),
  );
  const line = rule?.line ?? 'Read the ticket twice.';
  const better = template.replace('\nTicket:', `${line}\n\nTicket:`);
  return JSON.stringify({
    hypothesis:
      rule === undefined ? 'The rows show no rule.' : `The prompt does not say which tickets go to ${rule.queue}.`,
    template: isBad ? better.replace('{{ticket}}', 'the ticket') : better,
  });
}

/** Returns the template that a request for a proposal shows in a fence. */
function templateIn(request: string): string | undefined {
  return /(`{3,})\n(.*?)\n\1/s.exec(request)?.[2];
}

/** Returns the rows of a request whose output is not what is expected. */
function rowsIn(request: string): { text: string; expected: string }[] {
  return request.split(/^Row \d+$/m).flatMap((text) => {
    const [, expected = ''] = /^Expected: (.*)$/m.exec(text) ?? [];
    const [, output = ''] = /^Output: (.*)$/m.exec(text) ?? [];
    return expected === '' || expected === output ? [] : [{ text, expected }];
  });
}
