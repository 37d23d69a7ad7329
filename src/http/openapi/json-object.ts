export type JsonObject = Record<string, unknown>;

/** Descriptions and examples of fields and parameters that mean the same everywhere, by name. */
export type KnownFields = Readonly<Record<string, { description: string; example: unknown }>>;
