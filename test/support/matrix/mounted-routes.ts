import type { Express } from 'express';

/** Returns the paths of the routes of Express in the notation of contracts, and the number of other layers. */
export function mountedRoutes(app: Express): { paths: string[]; others: number } {
  const { stack } = app.router;
  const paths = stack.flatMap(({ route }) => (route === undefined ? [] : route.path.replaceAll(/:(\w+)/g, '{$1}')));
  return { paths, others: stack.length - paths.length };
}
