/**
 * A body has more elements than one step on an event loop may read (`stepElementsMax` of
 * `OtlpLimits`). A thread reads it instead.
 */
export class LongStepError extends Error {
  override readonly name = 'LongStepError';
}
