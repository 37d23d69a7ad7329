import { setTimeout as delay } from 'node:timers/promises';
import { BoundedMemo } from '../../../lib/bounded-memo.ts';
import type { TemplateThreads } from '../threads/template-threads.ts';
import type { EncodingName, TextTokens } from './count-in.ts';
import { encodingOf } from './encoding-of.ts';

export interface TokenCount {
  count: number;
  model: string | null;
  /** False only when the model's own encoding counted. */
  estimated: boolean;
}

interface Wanted {
  encoding: EncodingName;
  text: string;
  done: (tokens: TextTokens | undefined) => void;
}

/** Longer texts are estimated: some 4 bytes make a token of English. */
const countedCharactersMax = 1_048_576;
const bytesPerToken = 4;
/** Of one turn of the thread. What takes longer is hostile, and ends the thread. */
const turnMsMax = 2_000;
const turnCharactersMax = 65_536;
/** From the beginning of one turn to that of the next, so that many small texts share the way to the thread and back. */
const turnEveryMs = 3;
/** Some 25 ms of work; who finds more of it before them does not wait. */
const waitingCharactersMax = 65_536;
const patienceMs = 25;
/** The tables are loaded with the first count of a process. */
const firstPatienceMs = 3_000;
const keptMax = 5_000;
const keptCharactersMax = 4_194_304;

/**
 * Tokens of texts for a model, counted in a thread with OpenAI's encodings; of other makers' models o200k_base gives an estimate.
 * Nobody waits long: while the thread is behind, or for texts it cannot count, the bytes give the estimate. Texts are counted
 * several at a time, and counts are remembered, so that the unchanging messages of a chat cost nothing.
 */
export class TokenCounter {
  readonly #threads: TemplateThreads;
  readonly #kept = new BoundedMemo<TextTokens>(keptMax, keptCharactersMax);
  readonly #waiting: Wanted[] = [];
  #waitingCharacters = 0;
  /** While there are turns; from when on the next one waits for its place. */
  #turnBeganMs: number | undefined;
  #nextTurnMs = 0;
  #everCounted = false;

  constructor(threads: TemplateThreads) {
    this.#threads = threads;
  }

  /** Never rejects. Who would rather have an exact count than an early one says how long they have. */
  async count(texts: readonly string[], model: string | null, waitMsMax = patienceMs): Promise<TokenCount> {
    const { encoding, exact } = encodingOf(model ?? '');
    const counted = await this.#countAll(encoding, texts, waitMsMax);
    if (counted === undefined) return { count: estimate(texts), model, estimated: true };
    const count = counted.reduce((sum, each) => sum + each.count, 0);
    return { count, model, estimated: !exact || counted.some((each) => !each.exact) };
  }

  async #countAll(
    encoding: EncodingName,
    texts: readonly string[],
    waitMsMax: number,
  ): Promise<TextTokens[] | undefined> {
    const known = texts.map((text) => this.#kept.get(keyOf(encoding, text)));
    if (known.every((each) => each !== undefined)) return known;
    const characters = texts.reduce((sum, text, index) => sum + (known[index] === undefined ? text.length : 0), 0);
    if (characters > countedCharactersMax || this.#isBehind(waitMsMax)) return undefined;
    const counting = texts.map((text, index) => known[index] ?? this.#ask(encoding, text));
    const counted = await unless(this.#everCounted ? waitMsMax : firstPatienceMs, Promise.all(counting));
    return counted?.every((each) => each !== undefined) ? counted : undefined;
  }

  #isBehind(waitMsMax: number): boolean {
    if (this.#waitingCharacters > waitingCharactersMax) return true;
    return this.#everCounted && this.#turnBeganMs !== undefined && performance.now() - this.#turnBeganMs > waitMsMax;
  }

  #ask(encoding: EncodingName, text: string): Promise<TextTokens | undefined> {
    return new Promise((done) => {
      this.#waiting.push({ encoding, text, done });
      this.#waitingCharacters += text.length;
      if (this.#turnBeganMs === undefined) void this.#work();
    });
  }

  /** One turn after the other; those who come meanwhile, or in the same tick as the first, share the next. */
  async #work(): Promise<void> {
    for (;;) {
      this.#turnBeganMs = performance.now();
      const earlyMs = this.#nextTurnMs - this.#turnBeganMs;
      await (earlyMs > 0 ? delay(earlyMs) : undefined);
      const turn = this.#take();
      if (turn === undefined) break;
      this.#turnBeganMs = performance.now();
      this.#nextTurnMs = this.#turnBeganMs + turnEveryMs;
      const { encoding, wanted } = turn;
      const tokens = await this.#threads
        .run('countTokens', { encoding, texts: wanted.map(({ text }) => text) }, turnMsMax)
        .catch(() => undefined);
      this.#everCounted ||= tokens !== undefined;
      for (const [index, { text, done }] of wanted.entries()) {
        const counted = tokens?.[index];
        if (counted !== undefined) this.#kept.set(keyOf(encoding, text), counted, text.length);
        done(counted);
      }
    }
    this.#turnBeganMs = undefined;
  }

  /** The next texts of one encoding, in the order in which they came. */
  #take(): { encoding: EncodingName; wanted: Wanted[] } | undefined {
    const encoding = this.#waiting[0]?.encoding;
    if (encoding === undefined) return undefined;
    let [count, characters] = [0, 0];
    for (const { encoding: other, text } of this.#waiting) {
      if (other !== encoding || (count > 0 && characters + text.length > turnCharactersMax)) break;
      count += 1;
      characters += text.length;
    }
    this.#waitingCharacters -= characters;
    return { encoding, wanted: this.#waiting.splice(0, count) };
  }
}

const keyOf = (encoding: EncodingName, text: string) => `${encoding} ${text}`;

function estimate(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / bytesPerToken);
}

/** What is promised, or undefined when it takes longer; not an error, for it is no exception. */
async function unless<T>(waitMsMax: number, promised: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, waitMsMax, undefined);
  });
  try {
    return await Promise.race([promised, over]);
  } finally {
    clearTimeout(timer);
  }
}
