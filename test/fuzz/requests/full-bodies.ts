import fc from 'fast-check';
import { fullObject, fullSchema, fullTemplate, fullVariables, magnitude } from '../values/full.ts';
import type { Sizes } from '../values/hostile.ts';

const name = fc.stringMatching(/^[a-z]{8}$/);
const template_format = fc.constantFrom('mustache', 'liquid');

/** Bodies that use several limits of an operation at once. */
export function fullBodies(sizes: Sizes): Readonly<Record<string, fc.Arbitrary<unknown>>> {
  const template = fullTemplate(sizes);
  const variables = fullVariables(sizes);
  const config = fullObject(sizes);
  const text = { template, template_format };
  const optional = { requiredKeys: ['template', 'template_format'] as const };
  const messages = magnitude(200).chain((count) =>
    fc
      .tuple(template, fc.constantFrom('system', 'user'))
      .map(([content, role]) =>
        Array.from({ length: count }, () => ({ role, content: content.slice(0, sizes.textCharsMax / count) })),
      ),
  );
  const draft = fc.oneof(
    fc.record({ ...text, input_schema: fullSchema, config }, { requiredKeys: [...optional.requiredKeys] }),
    fc.record(
      { messages, template_format, input_schema: fullSchema },
      { requiredKeys: ['messages', 'template_format'] },
    ),
  );
  const typed = draft.map((each) => ({ type: 'messages' in each ? 'chat' : 'text', ...each }));
  const placeholders = fc
    .tuple(
      magnitude(sizes.elementsMax),
      fc.constantFrom<unknown>(0, {}, { role: 'user', content: [] }, { role: 'user', content: 'x' }),
    )
    .map(([count, message]) => ({ history: Array(Math.min(count, 30_000)).fill(message) }));
  const rendered = fc.record({ variables, placeholders, on_missing: fc.constantFrom('empty', 'keep', 'error') });
  return {
    createPrompt: fc.tuple(name, typed).map(([each, content]) => ({ name: each, ...content })),
    updatePrompt: draft,
    createPart: fc.record({ name, ...text }),
    updatePart: fc.record(text),
    renderPrompt: rendered,
    validatePrompt: fc.tuple(typed, rendered).map(([content, { variables: given }]) => ({
      ...content,
      variables: given,
    })),
    createExecution: fullExecution(sizes),
    createFeedback: fc.record({
      target_type: fc.constant('session'),
      session_id: fc.constant('s'),
      value: fc.constant(1),
      comment: template.map((each) => each.slice(0, 4_000)),
      metadata: config,
    }),
  };
}

/** Spans that each have texts, variables and tags. */
function fullExecution(sizes: Sizes): fc.Arbitrary<unknown> {
  const messages = magnitude(5_000).map((count) =>
    Array.from({ length: count }, (_, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: `text ${at}` })),
  );
  const parts = magnitude(5_000).map((count) => [
    { role: 'user', content: Array.from({ length: count }, (_, at) => ({ type: 'text', text: `${at}` })) },
  ]);
  const input = fc.oneof(fullTemplate(sizes), messages, parts, fullVariables(sizes));
  return fc
    .record({ count: magnitude(Math.min(sizes.elementsMax, 9_999)), input, output: input, isChain: fc.boolean() })
    .map(({ count, input: asked, output, isChain }) => {
      const idOf = (at: number) => (at + 1).toString(16).padStart(16, '0');
      // A body has at most 8 MiB.
      const charsMax = Math.min(sizes.textCharsMax * 2, 7_000_000) / count;
      const fits = JSON.stringify(asked).length + JSON.stringify(output).length < charsMax - 400;
      const texts = fits ? { input: asked, output } : { input: 'in', output: 'out' };
      const spans = Array.from({ length: count }, (_, at) => ({
        ...{ name: `span ${at % 100}`, kind: 'llm', model: `model-${at % 300}`, span_id: idOf(at), ...texts },
        ...{ usage: { input_tokens: at, output_tokens: 1 }, tags: [`tag-${at}`], session_id: `session-${at}` },
        ...(isChain && at > 0 && { parent_span_id: idOf(at - 1) }),
      }));
      return { name: 'full', input: asked, output, spans };
    });
}
