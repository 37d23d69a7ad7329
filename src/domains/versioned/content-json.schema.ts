import { z } from 'zod';
import { hasAtMostValues } from '../../lib/json-values.ts';

/** Texts, numbers, lists and objects in one JSON field of a version: hashing, comparing and copying so many takes some 20 ms. */
export const contentValuesMax = 10_000;

/** A free JSON object that is part of a version. */
export const contentJson = z
  .record(z.string(), z.unknown())
  .refine((value) => hasAtMostValues(value, contentValuesMax), `must have ${contentValuesMax} values at most`);
