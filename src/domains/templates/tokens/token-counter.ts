import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { FairLane } from '../../../lib/fair-lane.ts';
import type { TemplateThreads } from '../threads/template-threads.ts';
import type { EncodingName, TextTokens } from './count-in.ts';
import { cutPieces, pieceCharactersMax } from './cut-pieces.ts';
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
/** From the beginning of one turn to that of the next, so that many small texts share the way to the thread and back. */
const turnEveryMs = 2.5;
/** Some 12 ms of the thread in one turn, half of them for one workspace; longer texts go in pieces. */
const shares = { capacity: 32_768, perKey: pieceCharactersMax, waitingPerKey: 2_048, waitingMax: 16_384 };
const patienceMs = 25;
/** The tables are loaded with the first count of a process. */
const firstPatienceMs = 3_000;
const keptMax = 5_000;
const keptCharactersMax = 4_194_304;

/** The texts, whose they are, and for which model. */
export interface Countable {
  workspaceId: string;
  texts: readonly string[];
  model: string | null;
}

/**
 * Tokens of texts for a model, counted in a thread with OpenAI's encodings; of other makers' models o200k_base gives an estimate.
 * All workspaces share the thread: in a turn one of them has 16,384 characters at most, all together 32,768, and turns go round
 * between them. Nobody waits long: while the thread is behind, or for texts it cannot count, the bytes give the estimate. Counts
 * are remembered by text, whoever asked, so that the unchanging messages of a chat cost nothing.
 */
export class TokenCounter {
  readonly #threads: TemplateThreads;
  readonly #kept = new LRUCache<string, TextTokens>({ max: keptMax, maxSize: keptCharactersMax });
  readonly #lane = new FairLane({ name: 'token counts', ...shares });
  /** In the next turn. */
  #wanted: Wanted[] = [];
  /** While there are turns; from when on the next one waits for its place. */
  #turnBeganMs: number | undefined;
  #nextTurnMs = 0;
  #everCounted = false;

  constructor(threads: TemplateThreads) {
    this.#threads = threads;
  }

  /** Never rejects. Who would rather have an exact count than an early one says how long they have. */
  async count({ workspaceId, texts, model }: Countable, waitMsMax = patienceMs): Promise<TokenCount> {
    const { encoding, exact } = encodingOf(model ?? '');
    const counted = await this.#countAll(workspaceId, encoding, texts, waitMsMax);
    if (counted === undefined) return { count: estimate(texts), model, estimated: true };
    return { count: sum(counted), model, estimated: !exact || counted.some((each) => !each.exact) };
  }

  async #countAll(
    workspaceId: string,
    encoding: EncodingName,
    texts: readonly string[],
    waitMsMax: number,
  ): Promise<TextTokens[] | undefined> {
    const known = texts.map((text) => this.#kept.get(keyOf(encoding, text)));
    if (known.every((each) => each !== undefined)) return known;
    const characters = texts.reduce((total, text, index) => total + (known[index] === undefined ? text.length : 0), 0);
    if (characters > countedCharactersMax || this.#isBehind(waitMsMax)) return undefined;
    const patience = new Patience();
    const counting = texts.map((text, index) => known[index] ?? this.#countText(workspaceId, encoding, text, patience));
    // Refused or given up: those who still wait for it have their estimate.
    const all = Promise.all(counting).catch(() => undefined);
    const counted = await unless(this.#everCounted ? waitMsMax : firstPatienceMs, all);
    patience.end();
    return counted?.every((each) => each !== undefined) ? counted : undefined;
  }

  #isBehind(waitMsMax: number): boolean {
    return this.#everCounted && this.#turnBeganMs !== undefined && performance.now() - this.#turnBeganMs > waitMsMax;
  }

  /** Undefined when the thread did not count it. Throws what the lane throws, and when nobody waits any more. */
  async #countText(
    workspaceId: string,
    encoding: EncodingName,
    text: string,
    patience: Patience,
  ): Promise<TextTokens | undefined> {
    const { pieces, exact } = cutPieces(text);
    const counted = await Promise.all(
      pieces.map((piece) =>
        this.#lane.run(workspaceId, () => this.#ask(encoding, piece), { cost: piece.length, waiter: patience }),
      ),
    );
    if (!counted.every((each) => each !== undefined)) return undefined;
    const tokens = { count: sum(counted), exact: exact && counted.every((each) => each.exact) };
    this.#kept.set(keyOf(encoding, text), tokens, { size: Math.max(1, text.length) });
    return tokens;
  }

  #ask(encoding: EncodingName, text: string): Promise<TextTokens | undefined> {
    return new Promise((done) => {
      this.#wanted.push({ encoding, text, done });
      if (this.#turnBeganMs === undefined) void this.#work();
    });
  }

  /** One turn after the other; those who come meanwhile, or in the same tick as the first, share the next. */
  async #work(): Promise<void> {
    for (;;) {
      this.#turnBeganMs = performance.now();
      const earlyMs = this.#nextTurnMs - this.#turnBeganMs;
      await (earlyMs > 0 ? delay(earlyMs) : undefined);
      const encoding = this.#wanted[0]?.encoding;
      if (encoding === undefined) break;
      this.#turnBeganMs = performance.now();
      this.#nextTurnMs = this.#turnBeganMs + turnEveryMs;
      const turn = this.#wanted.filter((each) => each.encoding === encoding);
      this.#wanted = this.#wanted.filter((each) => each.encoding !== encoding);
      const texts = turn.map(({ text }) => text);
      const tokens = await this.#threads.countTokens(encoding, texts, turnMsMax).catch(() => undefined);
      this.#everCounted ||= tokens !== undefined;
      for (const [index, { done }] of turn.entries()) done(tokens?.[index]);
      // Whoever waited for their share of the lane comes into the next turn.
      await nextTurn();
    }
    this.#turnBeganMs = undefined;
  }
}

const noLonger = new Error('Nobody waits for this count any more');

/** Whoever waits for a count, until it ends. Most counts wait in no lane, and a signal is dear. */
class Patience {
  #controller: AbortController | undefined;
  #ended = false;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#ended) this.#controller.abort(noLonger);
    return this.#controller.signal;
  }

  end(): void {
    this.#ended = true;
    this.#controller?.abort(noLonger);
  }
}

const sum = (counted: readonly TextTokens[]) => counted.reduce((total, { count }) => total + count, 0);
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
