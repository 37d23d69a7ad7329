import type { Budget } from './budget.ts';
import { TemplateLimitError } from './problems.ts';

/**
 * Returns a variable's value as text: objects and lists as JSON, everything else converted to a
 * string.
 * @throws TemplateLimitError when the value is too large or nests too deeply
 */
export function textOf(value: unknown, budget: Budget): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  checkSize(value, budget);
  return JSON.stringify(value) ?? '';
}

/**
 * Nesting up to which a value is inserted. `JSON.stringify` overflows the stack on very deep
 * values.
 */
const depthMax = 200;

/**
 * Checks the size of the JSON before it is made, because the JSON may be far larger than the
 * budget. Walks without recursion and stops early.
 */
function checkSize(value: object, budget: Budget): void {
  let left = budget.outputLeft;
  const open: { value: object; depth: number }[] = [{ value, depth: 1 }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (each.depth > depthMax)
      throw new TemplateLimitError(`A value inserted as JSON is nested more than ${depthMax} levels deep`, 'nesting');
    const isList = Array.isArray(each.value);
    // Not Object.entries: it would copy a large object before anything is counted.
    for (const key in each.value) {
      budget.step();
      const item: unknown = Object.hasOwn(each.value, key) ? Reflect.get(each.value, key) : undefined;
      left -= (isList ? 1 : key.length + 3) + (typeof item === 'string' ? item.length + 2 : 1);
      if (left < 0)
        throw new TemplateLimitError(
          'A value inserted as JSON is longer than the limit for the rendered text',
          'output',
        );
      if (typeof item === 'object' && item !== null) open.push({ value: item, depth: each.depth + 1 });
    }
  }
}
