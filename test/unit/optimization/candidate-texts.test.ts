import { expect, onTestFinished, test } from 'vitest';
import { candidateTexts } from '../../../src/domains/optimization/candidate-texts.ts';
import { createPartSource } from '../../../src/domains/rendering/index.ts';
import type { TemplateThreads } from '../../../src/domains/templates/index.ts';
import { newId } from '../../../src/lib/ids.ts';

test('rows of a batch are rendered in a turn of the event loop each', async () => {
  const project = { projectId: newId('prj'), workspaceId: newId('wsp') };
  const threads = { of: (workspaceId: string) => ({ workspaceId }) } as unknown as TemplateThreads;
  const source = createPartSource({ parts: { find: async () => undefined } as never, threads });
  const text = { type: 'text', template: 'Sort {{ticket}}' } as const;
  const base = { ...text, templateFormat: 'mustache', config: null, inputSchema: null } as const;
  const texts = candidateTexts(source, { project, base, signal: new AbortController().signal });

  let turn = 0;
  let timer = setImmediate(count);
  function count() {
    turn++;
    timer = setImmediate(count);
  }
  onTestFinished(() => clearImmediate(timer));
  // All of them wait until the candidate is compiled.
  const rendered = await Promise.all(
    Array.from({ length: 32 }, async (_, row) => {
      const messages = await texts.render(text, { ticket: `ticket ${row}` });
      return { messages, turn };
    }),
  );
  expect(rendered[31]?.messages).toEqual([{ role: 'user', content: 'Sort ticket 31' }]);
  expect(new Set(rendered.map((each) => each.turn)).size).toBe(32);
});
