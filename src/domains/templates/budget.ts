import { processCpuMs } from '../../lib/time.ts';
import { templateLimits } from './limits.ts';
import { TemplateLimitError } from './problems.ts';

const { stepsMax, outputCharactersMax } = templateLimits;
/** Steps between two readings of the clock. */
const stepsPerCheck = 512;

/**
 * What is left of the steps, time and output of one render. All its messages and parts share one
 * budget. The time is at most the CPU time that the process used meanwhile, so a busy machine refuses no render.
 */
export class Budget {
  readonly #startMs = performance.now();
  readonly #startCpuMs = processCpuMs();
  readonly #timeMs: number;
  #steps = 0;
  #nextCheck = stepsPerCheck;
  #output = 0;

  constructor(timeMs: number) {
    this.#timeMs = timeMs;
  }

  /**
   * Counts steps.
   * @throws TemplateLimitError when the steps or the time are used up
   */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps < this.#nextCheck) return;
    if (this.#steps > stepsMax) throw new TemplateLimitError(`Rendering takes more than ${stepsMax} steps`, 'steps');
    this.#nextCheck = this.#steps + stepsPerCheck;
    // Reading the processor time takes as long as a hundred steps.
    if (performance.now() - this.#startMs <= this.#timeMs) return;
    if (processCpuMs() - this.#startCpuMs > this.#timeMs)
      throw new TemplateLimitError(`Rendering takes longer than ${this.#timeMs} ms`, 'time');
  }

  /**
   * Counts characters of output.
   * @throws TemplateLimitError when the text gets too long
   */
  output(characters: number): void {
    this.#output += characters;
    if (this.#output <= outputCharactersMax) return;
    throw new TemplateLimitError(`The rendered text is longer than ${outputCharactersMax} characters`, 'output');
  }

  get outputLeft(): number {
    return outputCharactersMax - this.#output;
  }
}
