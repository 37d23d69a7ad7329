import { describe, expect, test } from 'vitest';
import { Budget } from '../../../src/domains/templates/budget.ts';

const timeMs = 25;
/** So many that the budget reads the clock. */
const steps = 600;

describe('the time of a render', () => {
  test('does not count while the process gets no processor', () => {
    const budget = new Budget(timeMs);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4 * timeMs);
    expect(() => budget.step(steps)).not.toThrow();
  });

  test('ends the render when the process used it', () => {
    const budget = new Budget(timeMs);
    const { user } = process.cpuUsage();
    while (process.cpuUsage().user - user < 2 * timeMs * 1_000);
    expect(() => budget.step(steps)).toThrow(expect.objectContaining({ code: 'template_limit' }));
  });
});
