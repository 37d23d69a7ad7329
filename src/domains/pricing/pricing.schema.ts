import { z } from 'zod';
import { identityOf, type ModelPrice, type ModelPriceList } from './model-price.ts';

const pricesMax = 500;
const perMillionMax = 100_000;

/** USD as JSON number or decimal string. Stored as the decimal that was given. */
const perMillion = z
  .union([z.string(), z.number()])
  .meta({ description: `USD per million tokens, 0 to ${perMillionMax}, at most nine decimals`, example: '2.50' })
  .transform((given, context) => {
    const decimal = typeof given === 'number' ? decimalOf(given) : given;
    if (/^\d{1,6}(\.\d{1,9})?$/.test(decimal) && Number(decimal) <= perMillionMax) return decimal;
    context.addIssue({
      code: 'custom',
      message: `must be USD from 0 to ${perMillionMax} with at most nine decimals, such as "2.50"`,
      input: given,
    });
    return z.NEVER;
  });

const modelPriceBody = z.strictObject({
  model: z
    .string()
    .trim()
    .min(1)
    .max(256)
    .meta({ description: 'The model name as the spans give it. Case does not matter' }),
  provider: z.string().trim().min(1).max(256).nullish().meta({ description: 'Default: any provider' }),
  input_per_million: perMillion,
  output_per_million: perMillion,
  cache_read_per_million: perMillion.nullish().meta({ description: 'Default: the price of the input' }),
  cache_write_per_million: perMillion.nullish().meta({ description: 'Default: the price of the input' }),
  reasoning_per_million: perMillion.nullish().meta({ description: 'Default: the price of the output' }),
  effective_from: z.iso
    .datetime({ offset: true })
    .nullish()
    .meta({ description: 'The price applies to spans that start at this time or later; default: all spans' }),
});

export const modelPricesBody = z
  .strictObject({ prices: z.array(modelPriceBody).max(pricesMax) })
  .transform(({ prices }) => prices.map(fromWire))
  .superRefine((prices, context) => {
    const seen = new Map<string, number>();
    for (const [index, price] of prices.entries()) {
      const first = seen.get(identityOf(price));
      if (first === undefined) seen.set(identityOf(price), index);
      else {
        const message = `has the same model, provider and effective_from as prices[${first}]`;
        context.addIssue({ code: 'custom', path: ['prices', index], message, params: { code: 'duplicate' } });
      }
    }
  });

const usd = z.string().meta({ example: '2.50' });

const modelPriceSchema = z
  .object({
    model: z.string(),
    provider: z.string().nullable(),
    input_per_million: usd,
    output_per_million: usd,
    cache_read_per_million: usd.nullable(),
    cache_write_per_million: usd.nullable(),
    reasoning_per_million: usd.nullable(),
    effective_from: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ModelPrice' });

export const modelPricesSchema = z
  .object({
    prices: z.array(modelPriceSchema),
    updated_at: z.iso.datetime().nullable().meta({ description: 'Null if the project never had its own prices' }),
  })
  .meta({ id: 'ModelPrices' });

/** Converts a project's own prices to their API JSON. */
export function modelPricesToWire(list: ModelPriceList | undefined): z.infer<typeof modelPricesSchema> {
  return {
    prices: (list?.prices ?? []).map((price) => ({
      model: price.model,
      provider: price.provider,
      input_per_million: price.inputPerMillion,
      output_per_million: price.outputPerMillion,
      cache_read_per_million: price.cacheReadPerMillion,
      cache_write_per_million: price.cacheWritePerMillion,
      reasoning_per_million: price.reasoningPerMillion,
      effective_from: price.effectiveFrom?.toISOString() ?? null,
    })),
    updated_at: list?.updatedAt.toISOString() ?? null,
  };
}

function fromWire(price: z.output<typeof modelPriceBody>): ModelPrice {
  return {
    model: price.model,
    provider: price.provider ?? null,
    inputPerMillion: price.input_per_million,
    outputPerMillion: price.output_per_million,
    cacheReadPerMillion: price.cache_read_per_million ?? null,
    cacheWritePerMillion: price.cache_write_per_million ?? null,
    reasoningPerMillion: price.reasoning_per_million ?? null,
    effectiveFrom: price.effective_from == null ? null : new Date(price.effective_from),
  };
}

/**
 * Returns a number as a decimal without exponent. A number with more than nine decimals is returned
 * unchanged, so that the schema refuses it.
 */
function decimalOf(usd: number): string {
  const fixed = usd.toFixed(9);
  return Number(fixed) === usd ? fixed.replace(/\.?0+$/, '') : String(usd);
}
