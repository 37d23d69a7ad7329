import { Liquid } from 'liquidjs';
import { templateLimits } from '../limits.ts';
import { JsonCaptureTag } from './capture-tag.ts';
import { PartTag } from './part-tag.ts';

/** Limits that LiquidJS itself enforces on one render. */
export const liquidLimits = { renderMsMax: 200, charactersMax: 4 * templateLimits.outputCharactersMax } as const;

/** Tags that read files or that need a layout. */
const refusedTags = ['include', 'layout', 'block'];

/**
 * Creates a Liquid instance without file access, without prototype access and without the tags that
 * need files. It must run in a thread that can be terminated at any time.
 */
export function createLiquid(): Liquid {
  const liquid = new Liquid({
    // Empty, so that no look-up reaches a file. Parts are rendered by PartTag.
    templates: {},
    relativeReference: false,
    dynamicPartials: false,
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    catchAllErrors: true,
    // The output of a template must not depend on the machine it runs on.
    timezoneOffset: 0,
    locale: 'en-US',
    parseLimit: templateLimits.sourceCharactersMax,
    renderLimit: liquidLimits.renderMsMax,
    memoryLimit: liquidLimits.charactersMax,
  });
  for (const name of refusedTags) delete liquid.tags[name];
  liquid.registerTag('render', PartTag);
  liquid.registerTag('capture', JsonCaptureTag);
  return liquid;
}

/** Returns the names of all filters, for suggestions. */
export function filterNames(liquid: Liquid): string[] {
  return Object.keys(liquid.filters);
}
