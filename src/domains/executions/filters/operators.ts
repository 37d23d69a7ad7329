/** The comparison operators of filters. */
export const operators = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'contains',
  'starts_with',
  'exists',
] as const;

export type Operator = (typeof operators)[number];

export type BoundValue = string | number | bigint | boolean;
