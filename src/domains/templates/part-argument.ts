/** An argument of a part tag: the path of a variable, or a value that no variable of the caller gives. */
export type PartArgument = { name: string; path: string } | { name: string; value: string | number | boolean | null };
