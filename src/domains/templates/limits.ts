/** What one template may cost. With these no parse or render holds up the event loop for 50 ms (see templates-hostile.test.ts). */
export const templateLimits = {
  sourceCharactersMax: 262_144,
  /** Sections within sections, blocks within blocks. */
  nestingMax: 32,
  nodesMax: 5_000,
  problemsMax: 50,
  nameCharactersMax: 256,
  nameSegmentsMax: 16,
  /** Arguments of one part tag. */
  argumentsMax: 32,
  /** Parts within parts, the prompt itself not counted. */
  partDepthMax: 10,
  /** Part tags that are met when all parts are written out. */
  partUsesMax: 1_000,
  /** Of a prompt's texts and the parts it reaches, each once. */
  reachedCharactersMax: 1_048_576,
  messagesMax: 200,
  outputCharactersMax: 1_048_576,
  /** Nodes, list items and looked-through contexts of one render. */
  stepsMax: 50_000,
  /** Of a render on the event loop. */
  renderMsMax: 25,
} as const;
