export { promptCollection } from './prompt-collection.ts';
export { type PromptContent, promptKind, promptTypes } from './prompt-content.ts';
export {
  checkText,
  contentFields,
  contentFrom,
  otelAttributes,
  promptVersionSchema,
  promptVersionToWire,
} from './prompts.schema.ts';
