import { afterAll, expect, test, vi } from 'vitest';
import { parseMessages, parseTemplate, renderMessages, TemplateThreads } from '../../../src/domains/templates/index.ts';
import { watchLoop } from '../../support/loop-delay.ts';

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

test('very many renders at once of a prompt with long parts that is refused are refused without holding up the event loop', async () => {
  const endless = '{% for a in l %}{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}{% endfor %}';
  const messages = await parseMessages(threads, 'liquid', [{ role: 'system', content: endless }]);
  const part = (index: number) =>
    parseTemplate(threads, 'liquid', String.fromCodePoint(0x4e00 + index).repeat(250_000));
  const parts = new Map(
    await Promise.all([1, 2, 3, 4].map(async (index) => [`p${index}`, await part(index)] as const)),
  );
  const variables = { l: Array.from({ length: 1_000 }, (_, index) => index) };
  const options = { variables, parts, onMissing: 'empty' as const, placeholders: {} };
  const refused = (message: RegExp) =>
    expect(renderMessages(threads, messages, options)).rejects.toMatchObject({
      ...{ code: 'template_limit', budget: 'time', message: expect.stringMatching(message) },
    });
  // The first makes the workspace slow, and the second is remembered.
  await refused(/ms/);
  await refused(/ms$/);
  const loop = watchLoop();
  await Promise.all(Array.from({ length: 76 }, () => refused(/The same request is refused for another \d+ s/)));
  expect(loop.stop()).toBeLessThan(200);
});
