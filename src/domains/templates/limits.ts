/** What one template may cost. A synchronous render stays far below 50 ms with these (bench: test/unit/templates-hostile). */
export const templateLimits = {
  sourceCharactersMax: 262_144,
  /** Sections within sections. */
  nestingMax: 32,
  nodesMax: 10_000,
  problemsMax: 50,
  nameCharactersMax: 256,
  nameSegmentsMax: 16,
  /** Arguments of one part tag. */
  argumentsMax: 32,
  /** Parts within parts, the prompt itself not counted. */
  partDepthMax: 10,
  /** Part tags that are met when all parts are written out. */
  partUsesMax: 1_000,
  messagesMax: 200,
  outputCharactersMax: 1_048_576,
  /** Nodes, list items and looked-through contexts of one render. */
  stepsMax: 100_000,
  /** Of a render on the event loop. */
  renderMsMax: 25,
} as const;
