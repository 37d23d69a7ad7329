import { templateLimits } from './limits.ts';
import { TemplateLimitError } from './problems.ts';

const { nameCharactersMax, nameSegmentsMax, pathCharactersMax, pathSegmentsMax } = templateLimits;

/**
 * Refuses a name of a template that is too long. V8 compares texts of over 16,383 characters with all others of their length
 * when it looks for them in a `Map`, so a few long names, used many times, would take minutes.
 * @throws TemplateLimitError
 */
export function requireShortName(name: string, segments: number): void {
  if (name.length <= nameCharactersMax && segments <= nameSegmentsMax) return;
  throw new TemplateLimitError(
    `A name may have at most ${nameCharactersMax} characters and ${nameSegmentsMax} segments; ${start(name)} has ${name.length} and ${segments}`,
    'variables',
  );
}

/**
 * Refuses the path that a name in a part stands for if it is too long. Parts within parts can add a name each.
 * @throws TemplateLimitError
 */
export function requireShortPath(path: string): void {
  // Most paths are too short to have too many segments.
  if (path.length <= pathSegmentsMax) return;
  if (path.length <= pathCharactersMax && path.split('.', pathSegmentsMax + 1).length <= pathSegmentsMax) return;
  throw new TemplateLimitError(
    `A name in a part may stand for a path of at most ${pathCharactersMax} characters and ${pathSegmentsMax} segments; ${start(path)} has more`,
    'variables',
  );
}

const start = (name: string) => JSON.stringify(name.slice(0, 80));
