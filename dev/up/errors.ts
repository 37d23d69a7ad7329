/** An error at the start that the user can correct. It is printed as one line, without a stack. */
export class CannotStart extends Error {}
