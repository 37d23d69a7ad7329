/** An argument of a part tag: the value of a variable, or a literal. */
export type PartArgument = { name: string; path: string } | { name: string; value: string | number | boolean | null };
