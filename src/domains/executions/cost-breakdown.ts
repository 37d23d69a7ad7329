import { z } from 'zod';
import { type LightSpan, noUsage, type TokenUsage, usageParts } from '../spans/index.ts';
import { type Execution, sumUsage } from '../summaries/index.ts';
import { costToWire, usageSchema, usageToWire } from './executions.schema.ts';

/**
 * Sum of the known costs in nano-USD (null when no cost is known), and the number of spans without
 * a known cost.
 */
interface Cost {
  costNanoUsd: bigint | null;
  unpricedSpans: number;
}

export interface ModelCost extends Cost {
  model: string;
  provider: string;
  usage: TokenUsage;
}

/** Cost of an execution, split by its source (reported or computed) and by model. */
export interface CostBreakdown {
  reportedNanoUsd: bigint | null;
  computedNanoUsd: bigint | null;
  /** Highest cost first. */
  byModel: ModelCost[];
}

/**
 * Splits the cost of the spans that count. No cost is included twice, and the costs by model add up
 * to the execution's cost.
 */
export function breakDownCost(spans: readonly LightSpan[]): CostBreakdown {
  const { countedSpanIds } = sumUsage(spans);
  const counting = spans.filter((span) => countedSpanIds.has(span.spanId));
  return {
    reportedNanoUsd: costOf(counting.filter((span) => span.costSource === 'reported')).costNanoUsd,
    computedNanoUsd: costOf(counting.filter((span) => span.costSource === 'computed')).costNanoUsd,
    byModel: groupByModel(counting).map(modelCost).sort(dearestFirst),
  };
}

const money = z.string().nullable();

export const costBreakdownSchema = z
  .object({
    total: money,
    reported: money.meta({ description: 'The part that the clients reported; null when they reported no cost' }),
    computed: money.meta({ description: 'The part that was computed from prices; null when no cost was computed' }),
    unpriced_spans: z.number().int(),
    by_model: z.array(
      z.object({
        model: z.string().nullable(),
        provider: z.string().nullable(),
        cost: money,
        unpriced_spans: z.number().int(),
        usage: usageSchema,
      }),
    ),
  })
  .meta({ id: 'CostBreakdown' });

/** Converts a cost breakdown to its API JSON. Totals come from the execution. */
export function costBreakdownToWire(
  execution: Execution,
  breakdown: CostBreakdown,
): z.infer<typeof costBreakdownSchema> {
  return {
    total: costToWire(execution.costNanoUsd),
    reported: costToWire(breakdown.reportedNanoUsd),
    computed: costToWire(breakdown.computedNanoUsd),
    unpriced_spans: execution.unpricedSpans,
    by_model: breakdown.byModel.map((part) => ({
      model: part.model || null,
      provider: part.provider || null,
      cost: costToWire(part.costNanoUsd),
      unpriced_spans: part.unpricedSpans,
      usage: usageToWire(part.usage),
    })),
  };
}

function costOf(spans: readonly LightSpan[]): Cost {
  let costNanoUsd: bigint | null = null;
  let unpricedSpans = 0;
  for (const span of spans) {
    if (span.costNanoUsd === null) unpricedSpans++;
    else costNanoUsd = (costNanoUsd ?? 0n) + span.costNanoUsd;
  }
  return { costNanoUsd, unpricedSpans };
}

function groupByModel(spans: readonly LightSpan[]): [LightSpan, ...LightSpan[]][] {
  const groups = new Map<string, [LightSpan, ...LightSpan[]]>();
  for (const span of spans) {
    const key = `${span.provider}\n${span.model}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [span]);
    else group.push(span);
  }
  return [...groups.values()];
}

function modelCost(spans: [LightSpan, ...LightSpan[]]): ModelCost {
  const usage = noUsage();
  for (const span of spans) for (const part of usageParts) usage[part] += span.usage?.[part] ?? 0;
  const [{ model, provider }] = spans;
  return { model, provider, usage, ...costOf(spans) };
}

function dearestFirst(a: ModelCost, b: ModelCost): number {
  const [left, right] = [a.costNanoUsd ?? -1n, b.costNanoUsd ?? -1n];
  if (left !== right) return left > right ? -1 : 1;
  return `${a.model}\n${a.provider}` < `${b.model}\n${b.provider}` ? -1 : 1;
}
