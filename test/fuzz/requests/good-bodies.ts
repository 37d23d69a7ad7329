import fc from 'fast-check';
import { inputSchema, template, variables } from '../values/templates.ts';

const name = fc.stringMatching(/^[a-z]{8}$/);
const type = fc.constant('text');
const template_format = fc.constantFrom('mustache', 'liquid', 'plain');
const messages = fc.array(fc.record({ role: fc.constantFrom('system', 'user'), content: template }), {
  minLength: 1,
  maxLength: 3,
});
const lenient = { on_missing: fc.constantFrom('empty', 'keep'), variables };

/** Bodies of operations whose members depend on each other. A schema does not express this. */
export const goodBodies: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  createPrompt: fc.oneof(
    fc.record({ name, type, template, template_format }),
    fc.record({ name, type, template, input_schema: inputSchema }),
    fc.record({ name, type: fc.constant('chat'), messages, template_format }),
  ),
  updatePrompt: fc.oneof(
    fc.record({ template }),
    fc.record({ input_schema: inputSchema }),
    fc.record({ tags: fc.constant(['a']) }),
  ),
  createPart: fc.record({ name, template, template_format }),
  renderPrompt: fc.oneof(
    fc.record(lenient),
    fc.record({ ...lenient, version: fc.constantFrom(1, 2) }),
    fc.record({ ...lenient, label: fc.constant('production') }),
  ),
  validatePrompt: fc.oneof(
    fc.record({ type, template, template_format, variables }),
    fc.record({ template, input_schema: inputSchema, variables }),
    fc.record({ type: fc.constant('chat'), messages, template_format, variables }),
  ),
  rollbackPrompt: fc.record({ version: fc.constantFrom(1, 2) }),
  rollbackPart: fc.record({ version: fc.constant(1) }),
  putPromptLabel: fc.record({ version: fc.constantFrom(1, 2) }),
  putPartLabel: fc.record({ version: fc.constant(1) }),
};
