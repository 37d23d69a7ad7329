import { analyzeSync, type PropertyAccessToken, type Template, TypeGuards, Value, type ValueToken } from 'liquidjs';

/** What an expression reads from a variable: `user["name"]`, `list[0]` or `texts[language].title`. */
export type Access = PropertyAccessToken;

/**
 * Calls `visit` for everything that the arguments of a tag or output read, also within brackets. The outer ones come
 * first. The recursion is bounded by the stack of the worker thread.
 */
export function visitAccesses(template: Template, visit: (access: Access) => void): void {
  for (const argument of template.arguments?.() ?? []) visitIn(argument, visit);
}

function visitIn(argument: Value | ValueToken, visit: (access: Access) => void): void {
  if (argument instanceof Value || TypeGuards.isFilteredValueToken(argument)) {
    const { initial, filters } = argument;
    for (const token of initial.postfix) if (TypeGuards.isValueToken(token)) visitIn(token, visit);
    for (const given of filters.flatMap(({ args }) => args)) {
      const value = Array.isArray(given) ? given[1] : given;
      if (value !== undefined) visitIn(value, visit);
    }
  } else if (TypeGuards.isRangeToken(argument)) {
    visitIn(argument.lhs, visit);
    visitIn(argument.rhs, visit);
  } else if (TypeGuards.isPropertyAccessToken(argument)) {
    visit(argument);
    for (const property of argument.props) if (TypeGuards.isValueToken(property)) visitIn(property, visit);
  }
}

/**
 * Returns the static beginning of what an access reads: `a` for `a[b].c`. A segment with a dot cannot be part of a path,
 * so the beginning ends before it. It is empty for a property of a literal, such as `"text".size`. `isWhole` is true if
 * nothing follows.
 */
export function readAccess({ variable, props }: Access): { segments: string[]; isWhole: boolean } {
  const [root] = props;
  if (variable !== undefined || root === undefined) return { segments: [], isWhole: false };
  // `[a.b].c` has the name that `a.b` contains.
  if (TypeGuards.isPropertyAccessToken(root)) return { ...readAccess(root), isWhole: false };
  const segments = props.map((each) => (isNamed(each) ? String(each.content) : undefined));
  const end = segments.findIndex((each) => each === undefined || each.includes('.'));
  const known = segments.slice(0, end === -1 ? undefined : end).filter((each) => each !== undefined);
  return { segments: known, isWhole: end === -1 };
}

const isNamed = (token: Access['props'][number]) =>
  TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token) || TypeGuards.isWordToken(token);

/** Tells which accesses read variables that the template does not define itself, by `assign`, `for` and similar tags. */
export type IsGlobal = (access: Access) => boolean;

/** Finds the variables that the templates do not define themselves, with LiquidJS's static analysis. */
export function findGlobals(templates: Template[]): IsGlobal {
  const { globals } = analyzeSync(templates, { partials: false });
  const places = new Set(
    Object.values(globals).flatMap((each) => each.map(({ location: { row, col } }) => `${row}:${col}`)),
  );
  return (access) => places.has(access.getPosition().join(':'));
}
