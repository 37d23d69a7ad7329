import type { Budget } from './budget.ts';
import { TemplateLimitError } from './problems.ts';

/** A variable's value as text: objects and lists as JSON, everything else as it is. Throws TemplateLimitError. */
export function textOf(value: unknown, budget: Budget): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  checkSize(value, budget);
  return JSON.stringify(value) ?? '';
}

/** Deeper than this, `JSON.stringify` would overflow the stack sooner or later. */
const depthMax = 200;

/** Walks without recursion and stops early, because what comes out may be far larger than the budget allows. */
function checkSize(value: object, budget: Budget): void {
  let left = budget.outputLeft;
  const open: { value: object; depth: number }[] = [{ value, depth: 1 }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (each.depth > depthMax)
      throw new TemplateLimitError(`A value inserted as JSON nests deeper than ${depthMax}`, 'nesting');
    const isList = Array.isArray(each.value);
    // Not Object.entries, which would copy a large object before anything is counted.
    for (const key in each.value) {
      budget.step();
      const item: unknown = Object.hasOwn(each.value, key) ? Reflect.get(each.value, key) : undefined;
      left -= (isList ? 1 : key.length + 3) + (typeof item === 'string' ? item.length + 2 : 1);
      if (left < 0)
        throw new TemplateLimitError('A value inserted as JSON is longer than the rendered text may be', 'output');
      if (typeof item === 'object' && item !== null) open.push({ value: item, depth: each.depth + 1 });
    }
  }
}
