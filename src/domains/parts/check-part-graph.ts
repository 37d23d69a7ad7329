import { InvalidError } from '../../lib/errors.ts';
import { TemplateLimitError, templateLimits } from '../templates/index.ts';
import type { Edge, Includer } from './part-graph-store.ts';

/**
 * Checks that no part reached from `start` includes itself, and that parts do not nest too deeply.
 * `above` is the number of levels of parts that include `start`.
 * @throws InvalidError (`part_cycle` with the path, `template_limit`)
 */
export function checkPartGraph(start: Includer & { slug: string }, edges: readonly Edge[], above = 0): void {
  const outgoing = new Map<string, Edge[]>();
  for (const edge of edges) {
    const known = outgoing.get(edge.from);
    if (known === undefined) outgoing.set(edge.from, [edge]);
    else known.push(edge);
  }
  // The prompt itself is not counted as a level.
  const pathMax = templateLimits.partDepthMax + (start.kind === 'prompt' ? 1 : 0);
  const depths = new Map<string, number>();
  const path: { node: string; slug: string }[] = [];

  function depthOf(node: string, slug: string): number {
    const begin = path.findIndex((each) => each.node === node);
    if (begin >= 0) throw cycle([...path.slice(begin).map((each) => each.slug), slug]);
    const known = depths.get(node);
    if (path.length + (known ?? 1) > pathMax) throw tooDeep(path.map((each) => each.slug));
    if (known !== undefined) return known;
    path.push({ node, slug });
    let below = 0;
    for (const { to, slug: next } of outgoing.get(node) ?? []) below = Math.max(below, depthOf(to, next));
    path.pop();
    depths.set(node, below + 1);
    return below + 1;
  }
  const depth = depthOf(`${start.id}@${start.version}`, start.slug);
  if (above + depth > pathMax) throw tooDeepWithin(start.slug, above, depth);
}

function cycle(path: readonly string[]): InvalidError {
  const message = `Parts include each other: ${path.join(' > ')}`;
  return new InvalidError('part_cycle', message, {
    errors: [{ path: 'template', code: 'part_cycle', message }],
    extra: { path },
  });
}

function tooDeep(path: readonly string[]): InvalidError {
  return new TemplateLimitError(
    `Parts may be nested at most ${templateLimits.partDepthMax} levels deep; ${path.join(' > ')} has more levels below it`,
    'parts',
  );
}

function tooDeepWithin(slug: string, above: number, depth: number): InvalidError {
  const levels = depth === 1 ? 'one level' : `${depth} levels`;
  return new TemplateLimitError(
    `Parts may be nested at most ${templateLimits.partDepthMax} levels deep; ${slug} would have ${levels}, and the parts that include it have ${above} more`,
    'parts',
  );
}
