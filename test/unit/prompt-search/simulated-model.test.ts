import { describe, expect, onTestFinished, test } from 'vitest';
import { models, simulatedReply } from '../../support/simulated-model/simulated-reply.ts';
import { perfectTemplate, rowsOf } from '../../support/simulated-model/simulated-task.ts';
import { startSimulatedModel } from '../../support/simulated-model/start-simulated-model.ts';
import { tickets, ticketsByChance } from '../../support/simulated-model/tickets.ts';

const rows = rowsOf(tickets, 300);

function accuracy(task: typeof tickets, template: string): number {
  const right = rows.filter(({ inputs, expected }) => {
    const text = template.replace('{{ticket}}', inputs.ticket ?? '');
    return simulatedReply(task, { model: models.task, text, isJson: false }, { seed: 1 }) === expected;
  });
  return right.length / rows.length;
}

async function start(options: Parameters<typeof startSimulatedModel>[0] = {}) {
  const model = await startSimulatedModel(options);
  onTestFinished(() => model.close());
  const ask = (name: string, content: string) =>
    fetch(`${model.url}/chat/completions`, {
      method: 'POST',
      headers: { Authorization: 'Bearer k', 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: name, messages: [{ role: 'user', content }], temperature: 0 }),
    });
  return { model, ask };
}

describe('the simulated task model', () => {
  test('follows a rule only if its prompt states it', () => {
    expect(accuracy(tickets, tickets.seedTemplate)).toBeLessThan(0.3);
    expect(accuracy(tickets, perfectTemplate(tickets))).toBeGreaterThan(0.97);
    expect(accuracy(ticketsByChance, ticketsByChance.seedTemplate)).toBeCloseTo(0.7, 1);
  });
});

describe('the simulated endpoint', () => {
  test('counts what it bills and logs what it got', async () => {
    const { model, ask } = await start();
    const response = await ask(models.task, tickets.seedTemplate.replace('{{ticket}}', rows[0]?.inputs.ticket ?? ''));
    expect(await response.json()).toMatchObject({ usage: { total_tokens: expect.any(Number) } });
    expect(model.stats.billed).toEqual({ task: 1, reflect: 0, judge: 0 });
    expect(model.requests).toMatchObject([{ kind: 'task', status: 200, params: { temperature: 0 } }]);
  });

  test.each([
    [{ rate429: 1 }, 429],
    [{ rate500: 1 }, 500],
    [{ failing: ['task'] as const }, 500],
    [{ unauthorized: true }, 401],
    [{ unknownModel: true }, 404],
  ])('with the fault %j responds with %i and bills nothing', async (faults, status) => {
    const { model, ask } = await start({ faults });
    expect((await ask(models.task, 'x')).status).toBe(status);
    expect(model.stats.billed.task).toBe(0);
    expect(model.stats.refused).toBe(1);
  });
});
