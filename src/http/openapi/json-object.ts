export type JsonObject = Record<string, unknown>;

/** Fields and parameters that are the same wherever they occur, by name. */
export type KnownFields = Readonly<Record<string, { description: string; example: unknown }>>;
