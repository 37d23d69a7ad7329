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
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    left -= typeof each.value === 'string' ? each.value.length + 2 : 1;
    if (left < 0) throw new TemplateLimitError('A value inserted as JSON is longer than the rendered text may be');
    if (typeof each.value !== 'object' || each.value === null) continue;
    budget.step();
    const depth = each.depth + 1;
    if (depth > depthMax) throw new TemplateLimitError(`A value inserted as JSON nests deeper than ${depthMax}`);
    for (const [key, item] of Object.entries(each.value)) {
      left -= Array.isArray(each.value) ? 1 : key.length + 3;
      open.push({ value: item, depth });
    }
  }
}
