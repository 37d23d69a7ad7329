import { TypeGuards } from 'liquidjs';
import type { CompiledLiquid } from './compile-liquid.ts';
import { walk } from './find-facts.ts';

/**
 * Bytes that LiquidJS takes for one character of a tag. The most expensive ones measured are arguments
 * of a filter (`b,` takes 440 bytes) and the shortest outputs (`{{a}}` takes 1,020).
 */
const bytesPerTagCharacter = 220;

/** Estimates the bytes that a compiled Liquid template takes in memory. */
export function liquidSizeOf({ templates, parsed: { source } }: CompiledLiquid): number {
  let textCharacters = 0;
  walk(templates, true, [], ({ token }) => {
    if (TypeGuards.isHTMLToken(token)) textCharacters += token.end - token.begin;
  });
  return 1 + 2 * source.length + bytesPerTagCharacter * (source.length - textCharacters);
}
