import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type DemoApi, DemoFailed } from './demo-api.ts';
import { sort } from './simulated-model.ts';
import { firstTemplate, tickets } from './tickets.ts';

/** The name of a model that has a price. The simulated model answers to every name. */
export const demoModel = 'gpt-4o-mini';
const executionCount = 120;
const atOnce = 8;
const storedWithinMs = 60_000;
const listSchema = z.object({ page: z.object({ total: z.number() }) });

/** Creates a prompt. Returns its id. */
export async function createPrompt(api: DemoApi): Promise<string> {
  const created = await api.call('POST', '/prompts', {
    name: `Ticket queue, ${new Date().toISOString()}`,
    ...{ type: 'text', template: firstTemplate, config: { model: demoModel } },
    input_schema: { type: 'object', properties: { ticket: { type: 'string' } }, required: ['ticket'] },
  });
  return z.object({ id: z.string() }).parse(created).id;
}

/**
 * Records executions of a prompt as an application would, with the feedback of its users: a correction
 * of every wrong output. Waits until all can be read. Returns how many outputs were right.
 */
export async function recordExecutions(api: DemoApi, promptId: string): Promise<{ count: number; right: number }> {
  const all = tickets(executionCount);
  let right = 0;
  const record = async (start: number) => {
    for (let index = start; index < all.length; index += atOnce) {
      const ticket = all[index];
      if (ticket === undefined) return;
      const input = firstTemplate.replace('{{ticket}}', ticket.text);
      const output = sort(input);
      right += Number(output === ticket.queue);
      const execution = await api.call('POST', '/executions', {
        ...{ prompt_id: promptId, prompt_version: 1, variables: { ticket: ticket.text }, model: demoModel },
        ...{ name: 'sort ticket', input, output, duration_ms: 400, usage: { input_tokens: 70, output_tokens: 2 } },
      });
      const { trace_id } = z.object({ trace_id: z.string() }).parse(execution);
      const said = output === ticket.queue ? { rating: 'up' } : { rating: 'down', correction: ticket.queue };
      await api.giveFeedback({ target_type: 'execution', trace_id, ...said });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, start) => record(start)));
  await untilStored(api, promptId);
  return { count: all.length, right };
}

async function untilStored(api: DemoApi, promptId: string): Promise<void> {
  const endsAtMs = Date.now() + storedWithinMs;
  while (Date.now() < endsAtMs) {
    const listed = await api.call('GET', `/executions?prompt_id=${promptId}&include_total=true&limit=1`);
    if (listSchema.parse(listed).page.total >= executionCount) return;
    await delay(200);
  }
  throw new DemoFailed(`The executions were not readable after ${storedWithinMs / 1_000} s. Does the worker run?`);
}
