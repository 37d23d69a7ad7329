/** A reason not to start that the user can remedy: printed as one line, without a stack. */
export class CannotStart extends Error {}
