/** An argument of a part tag: a variable's path or a literal value. */
export type PartArgument = { name: string; path: string } | { name: string; value: string | number | boolean | null };
