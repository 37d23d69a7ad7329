export { type CompiledPrompt, compilePrompt } from './compile-prompt.ts';
export { createRendering } from './create-rendering.ts';
export { modelOf } from './estimate-cost.ts';
export { type Fillable, fillVariables } from './fill-variables.ts';
export {
  createPartSource,
  type LoadedParts,
  loadPicked,
  type PartPick,
  type PartSource,
  type PartsProject,
} from './load-parts.ts';
export { renderCompiled } from './render-prompt.ts';
