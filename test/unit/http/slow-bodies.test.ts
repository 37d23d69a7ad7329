import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { watchSlowBodies } from '../../../src/http/slow-bodies.ts';
import { Bag } from '../../../src/runtime/bag.ts';
import { until } from '../../support/until.ts';

const limits = { idleMsMax: 0, graceMs: 1_000, bytesPerS: 1, everyMs: 5 };

test('bodies that stop at the same time are refused a few in a turn of the event loop, unless they ended meanwhile', async () => {
  const running = new Bag<ServerResponse>();
  const responses = Array.from({ length: 100 }, () => new ServerResponse(new IncomingMessage(new Socket())));
  for (const response of responses) running.add(response);
  let turn = 0;
  const next = () => {
    turn++;
    count = setImmediate(next);
  };
  let count = setImmediate(next);
  const refused = new Map<ServerResponse, number>();
  const end = watchSlowBodies(running, limits, (response) => {
    refused.set(response, turn);
    response.req.complete = true;
    const last = responses.at(-1);
    if (last !== undefined) last.req.complete = true;
  });
  await until('all others are refused', 5_000, () => refused.size === 99);
  end();
  clearImmediate(count);
  const turns = [...refused.values()];
  const inTurn = turns.map((each) => turns.filter((other) => other === each).length);
  expect(Math.max(...inTurn)).toBe(32);
});
