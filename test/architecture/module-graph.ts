import { posix } from 'node:path';
import { type Import, importsOf, type SourceFile } from './check.ts';

/** The files of the product and their imports of each other. Paths are relative to the root of the project. */
export interface ModuleGraph {
  /** Imports that are loaded with their file. */
  eager: ReadonlyMap<string, readonly string[]>;
  /** Imports that exist at run time: those, and `import()`. */
  values: ReadonlyMap<string, readonly string[]>;
  /** The imports that exist at run time, and imports of types only. */
  all: ReadonlyMap<string, readonly string[]>;
}

export function moduleGraph(files: readonly SourceFile[]): ModuleGraph {
  const paths = new Set(files.map(({ path }) => path));
  const edges = (keep: (each: Import) => boolean) =>
    new Map(
      files.map(({ path, text }) => [
        path,
        importsOf(text)
          .filter((each) => each.module.startsWith('.') && keep(each))
          .map(({ module }) => posix.join(posix.dirname(path), module))
          .filter((target) => paths.has(target)),
      ]),
    );
  return {
    eager: edges(({ isType, isLazy }) => !isType && !isLazy),
    values: edges(({ isType }) => !isType),
    all: edges(() => true),
  };
}

/** Returns a file and everything that it imports, directly or indirectly. */
export function reachedFrom(start: string, edges: ModuleGraph['all']): Set<string> {
  const reached = new Set([start]);
  for (const path of reached) for (const target of edges.get(path) ?? []) reached.add(target);
  return reached;
}

/**
 * Returns groups of files that import each other in a cycle. The algorithm is Tarjan's,
 * "Depth-first search and linear graph algorithms", 1972.
 */
export function cyclesOf(edges: ModuleGraph['all']): string[][] {
  const cycles: string[][] = [];
  const [order, lowest, open] = [new Map<string, number>(), new Map<string, number>(), new Set<string>()];
  const visit = (path: string): number => {
    const own = order.size;
    order.set(path, own);
    open.add(path);
    let low = own;
    for (const target of edges.get(path) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.has(target)) low = Math.min(low, lowest.get(target) ?? order.get(target) ?? own);
    }
    lowest.set(path, low);
    if (low < own) return low;
    const group = [...open].slice([...open].indexOf(path));
    for (const each of group) open.delete(each);
    if (group.length > 1) cycles.push(group);
    return low;
  };
  for (const path of edges.keys()) if (!order.has(path)) visit(path);
  return cycles;
}

export interface StructureFigures {
  /** Files that the worker process loads when it starts. */
  workerFiles: readonly string[];
  /** Files that it loads for some jobs only, when the first of them starts. */
  lazyWorkerFiles: readonly string[];
  /** Files that `priceCall` loads. */
  priceCallFiles: number;
  /** Cycles of imports, including imports of types. */
  cycles: readonly string[][];
  /** Lines of each domain as a share of the lines of all domains, the largest first. */
  domainShares: readonly { domain: string; share: number }[];
}

export function structureOf(files: readonly SourceFile[]): StructureFigures {
  const graph = moduleGraph(files);
  const lines = new Map<string, number>();
  for (const { path, text } of files) {
    const domain = /^src\/domains\/([^/]+)\//.exec(path)?.[1];
    if (domain !== undefined) lines.set(domain, (lines.get(domain) ?? 0) + text.trimEnd().split('\n').length);
  }
  const total = [...lines.values()].reduce((sum, count) => sum + count, 0);
  const shares = [...lines].map(([domain, count]) => ({ domain, share: count / total }));
  const workerFiles = reachedFrom('workers/main.ts', graph.eager);
  const laterFiles = [...reachedFrom('workers/main.ts', graph.values)].filter((path) => !workerFiles.has(path));
  return {
    workerFiles: [...workerFiles].sort(),
    lazyWorkerFiles: laterFiles.sort(),
    priceCallFiles: reachedFrom('src/domains/pricing/price-call.ts', graph.values).size,
    cycles: cyclesOf(graph.all),
    domainShares: shares.sort((a, b) => b.share - a.share),
  };
}
