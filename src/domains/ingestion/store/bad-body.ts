/** The body can never become rows, however often it is tried. */
export class BadBodyError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'BadBodyError';
  }
}

/** Wraps an error of work that depends on the body alone: a retry would throw it again. */
export function asBadBody(error: unknown): BadBodyError {
  if (error instanceof BadBodyError) return error;
  return new BadBodyError(
    `The body cannot be decoded and written as rows: ${error instanceof Error ? error.message : 'unknown'}`,
    error,
  );
}
