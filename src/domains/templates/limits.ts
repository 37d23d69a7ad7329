/**
 * Limits of one template. With them no parse or render blocks the event loop for 50 ms;
 * templates-hostile.test.ts measures this.
 */
export const templateLimits = {
  sourceCharactersMax: 262_144,
  /** Levels of sections within sections or blocks within blocks. */
  nestingMax: 32,
  nodesMax: 5_000,
  problemsMax: 50,
  nameCharactersMax: 256,
  nameSegmentsMax: 16,
  /** Characters, and segments, of the path that a name in a part stands for. Each part around it may add a name. */
  pathCharactersMax: 1_024,
  pathSegmentsMax: 64,
  /** Arguments of one part tag. */
  argumentsMax: 32,
  /** Levels of parts within parts, not counting the prompt itself. */
  partDepthMax: 10,
  /** Part tags when all parts are written out. */
  partUsesMax: 1_000,
  /** Different variables of a prompt and its parts. */
  variablesMax: 2_000,
  /** Characters of a prompt's texts and of the parts it reaches, each part counted once. */
  reachedCharactersMax: 1_048_576,
  messagesMax: 200,
  /** Messages that replace placeholders in one render. Each use of a placeholder counts. */
  insertedMessagesMax: 10_000,
  outputCharactersMax: 1_048_576,
  /** Nodes, list items and searched contexts of one render. */
  stepsMax: 50_000,
  /** Milliseconds of one render on the event loop. */
  renderMsMax: 25,
} as const;
