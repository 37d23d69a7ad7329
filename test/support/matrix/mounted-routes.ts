import type { Express } from 'express';

/** What Express would serve: the paths of its routes, as contracts write them, and how many other layers there are. */
export function mountedRoutes(app: Express): { paths: string[]; others: number } {
  const { stack } = app.router;
  const paths = stack.flatMap(({ route }) => (route === undefined ? [] : route.path.replaceAll(/:(\w+)/g, '{$1}')));
  return { paths, others: stack.length - paths.length };
}
