import { expect, test } from 'vitest';
import { candidateTexts } from '../../../src/domains/optimization/candidate-texts.ts';
import { createPartSource } from '../../../src/domains/rendering/index.ts';
import type { TemplateThreads } from '../../../src/domains/templates/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import { countTurns } from '../../support/count-turns.ts';

test('rows of a batch whose renders take long are rendered in a turn of the event loop each', async () => {
  const project = { projectId: newId('prj'), workspaceId: newId('wsp') };
  const threads = { of: (workspaceId: string) => ({ workspaceId }) } as unknown as TemplateThreads;
  const source = createPartSource({ parts: { find: async () => undefined } as never, threads });
  const text = { type: 'text', template: 'Sort {{ticket}}' } as const;
  const base = { ...text, templateFormat: 'mustache', config: null, inputSchema: null } as const;
  const texts = candidateTexts(source, { project, base, signal: new AbortController().signal });

  // Each row takes longer than a turn has for them.
  const row = (index: number) => ({
    get ticket() {
      const untilMs = performance.now() + 6;
      while (performance.now() < untilMs);
      return `ticket ${index}`;
    },
  });
  // All of them wait until the candidate is compiled.
  const { result, turns } = await countTurns(() =>
    Promise.all(Array.from({ length: 32 }, (_, index) => texts.render(text, row(index)))),
  );
  expect(result[31]).toEqual([{ role: 'user', content: 'Sort ticket 31' }]);
  expect(turns).toBeGreaterThanOrEqual(32);
});
