import { Liquid } from 'liquidjs';
import { templateLimits } from '../limits.ts';
import { PartTag } from './part-tag.ts';

/** LiquidJS's own limits of one render. */
export const liquidLimits = { renderMsMax: 200, charactersMax: 4 * templateLimits.outputCharactersMax } as const;

/** Tags that read files, or that need a layout to be of use. */
const refusedTags = ['include', 'layout', 'block'];

/** Liquid without files, prototypes and the tags that need them. Made for a thread that can be ended at any time. */
export function createLiquid(): Liquid {
  const liquid = new Liquid({
    // Empty, so that no look-up ever reaches a file; parts come through PartTag.
    templates: {},
    relativeReference: false,
    dynamicPartials: false,
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    catchAllErrors: true,
    // What a template says must not depend on where it runs.
    timezoneOffset: 0,
    locale: 'en-US',
    parseLimit: templateLimits.sourceCharactersMax,
    renderLimit: liquidLimits.renderMsMax,
    memoryLimit: liquidLimits.charactersMax,
  });
  for (const name of refusedTags) delete liquid.tags[name];
  liquid.registerTag('render', PartTag);
  return liquid;
}

/** The names of the filters there are, for suggestions. */
export function filterNames(liquid: Liquid): string[] {
  return Object.keys(liquid.filters);
}
