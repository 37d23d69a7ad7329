import type { AnyValue } from '../../otlp/span.ts';
import { attribute, attributes, field, type Reading, warn } from './candidates.ts';
import { isObject, member, number, parsed } from './read-value.ts';

const nanoPerUsd = 1e9;

/**
 * The cost of the call in nano-USD, as the client reports it. The first source with a cost is used,
 * even if the cost is 0.
 */
export const reportedCost = field<bigint>('cost', [
  attribute('langfuse.observation.cost_details', langfuseCost),
  ...attributes(['llm.cost.total', 'gen_ai.usage.cost'], nanoUsd),
  attribute('mlflow.llm.cost', (value, reading) => nanoUsd(member(value, ['total_cost'], reading), reading)),
]);

function nanoUsd(usd: unknown, reading: Reading): bigint | undefined {
  const read = number(usd);
  if (read === undefined) return undefined;
  const nano = Math.round(read * nanoPerUsd);
  if (Number.isSafeInteger(nano) && nano >= 0) return BigInt(nano);
  warn(reading, 'bad_cost');
  return undefined;
}

/** Reads Langfuse's cost. As in Langfuse, a missing total is the sum of the other members. */
function langfuseCost(value: AnyValue, reading: Reading): bigint | undefined {
  const details = parsed(value, reading);
  if (!isObject(details)) return undefined;
  if (details.total !== undefined) return nanoUsd(details.total, reading);
  const parts = Object.values(details).map(number);
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0
    ? undefined
    : nanoUsd(
        known.reduce((sum, part) => sum + part, 0),
        reading,
      );
}
