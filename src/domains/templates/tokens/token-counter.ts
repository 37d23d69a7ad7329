import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { FairLane } from '../../../lib/fair-lane.ts';
import { textKey } from '../../../lib/text-key.ts';
import type { TemplateThreads } from '../threads/template-threads.ts';
import type { EncodingName, TextTokens } from './count-in.ts';
import { cutPieces, pieceCharactersMax } from './cut-pieces.ts';
import { encodingOf } from './encoding-of.ts';

export interface TokenCount {
  count: number;
  model: string | null;
  /** False only when the model's own encoding counted the tokens. */
  estimated: boolean;
}

/** The key of a long text takes a millisecond, so it is made once. */
type KeyedText = Readonly<{ text: string; key: string }>;

interface Wanted {
  encoding: EncodingName;
  text: string;
  done: (tokens: TextTokens | undefined) => void;
}

/**
 * Characters up to which a text is counted. Longer texts are estimated: one token of English has
 * about 4 bytes.
 */
const countedCharactersMax = 1_048_576;
const bytesPerToken = 4;
/**
 * Different texts of one prompt that are counted unless they were before; with more, all are estimated. Asking for so
 * many takes 20 ms.
 */
const freshTextsMax = 1_000;
/**
 * Milliseconds of one turn of the thread. A turn that takes longer is hostile, and the thread is
 * terminated.
 */
const turnMsMax = 2_000;
/**
 * Milliseconds between the beginnings of two turns, so that many small texts share one message to
 * the thread and back.
 */
const turnEveryMs = 2.5;
/**
 * Characters of one turn and of one workspace within it. A turn takes about 12 ms of the thread,
 * half of it for one workspace; longer texts are cut into pieces.
 */
const shares = { capacity: 32_768, perKey: pieceCharactersMax, waitingPerKey: 2_048, waitingMax: 16_384 };
const patienceMs = 25;
/** Milliseconds to wait for the first count of a process, which loads the tables. */
const firstPatienceMs = 3_000;
const keptMax = 5_000;
const keptCharactersMax = 4_194_304;

/** The texts to count, the workspace that pays and the model. */
export interface Countable {
  workspaceId: string;
  texts: readonly string[];
  model: string | null;
}

/**
 * Counts tokens in a worker thread with OpenAI's encodings; o200k_base estimates those of other
 * makers' models. All workspaces share the thread and take turns: one turn has at most 32,768
 * characters, 16,384 of one workspace. No caller waits long: while the thread is behind, and for texts
 * it cannot count, the count is estimated from the bytes. Counts are cached by text for all
 * workspaces, so repeated messages of a chat cost nothing.
 */
export class TokenCounter {
  readonly #threads: TemplateThreads;
  readonly #kept = new LRUCache<string, TextTokens>({ max: keptMax, maxSize: keptCharactersMax });
  readonly #lane = new FairLane({ name: 'token counts', ...shares });
  /** Pieces for the next turn. */
  #wanted: Wanted[] = [];
  /** When the current turn, or the wait for the next, began; undefined while there are no turns. */
  #turnBeganMs: number | undefined;
  #nextTurnMs = 0;
  #everCounted = false;

  constructor(threads: TemplateThreads) {
    this.#threads = threads;
  }

  /**
   * Counts the tokens of texts and never rejects. A caller that prefers an exact count passes a
   * longer `waitMsMax`.
   */
  async count({ workspaceId, texts, model }: Countable, waitMsMax = patienceMs): Promise<TokenCount> {
    const { encoding, exact } = encodingOf(model ?? '');
    const keyed = texts.map((text) => ({ text, key: `${encoding} ${textKey(text)}` }));
    const counted = await this.#countAll(workspaceId, encoding, keyed, waitMsMax);
    if (counted === undefined) return { count: estimate(texts), model, estimated: true };
    return { count: sum(counted), model, estimated: !exact || counted.some((each) => !each.exact) };
  }

  /** Starts the thread and loads its tables, which takes about a second, so that no render waits for them. */
  warmUp(): void {
    void this.#ask('o200k_base', 'warm');
  }

  #countAll(
    workspaceId: string,
    encoding: EncodingName,
    texts: readonly KeyedText[],
    waitMsMax: number,
  ): TextTokens[] | Promise<TextTokens[] | undefined> {
    const known: TextTokens[] = [];
    for (const { key } of texts) {
      const kept = this.#kept.get(key);
      if (kept === undefined) return this.#countFresh(workspaceId, encoding, texts, waitMsMax);
      known.push(kept);
    }
    return known;
  }

  /** Counts texts of which at least one was not counted before, each different text once. */
  async #countFresh(
    workspaceId: string,
    encoding: EncodingName,
    texts: readonly KeyedText[],
    waitMsMax: number,
  ): Promise<TextTokens[] | undefined> {
    const counts = new Map<string, TextTokens | undefined>();
    const fresh: KeyedText[] = [];
    for (const each of texts) {
      if (counts.has(each.key)) continue;
      const kept = this.#kept.get(each.key);
      counts.set(each.key, kept);
      if (kept === undefined && fresh.push(each) > freshTextsMax) return undefined;
    }
    const characters = fresh.reduce((total, { text }) => total + text.length, 0);
    if (characters > countedCharactersMax || this.#isBehind(waitMsMax)) return undefined;
    const patience = new Patience();
    const countOne = async (each: KeyedText) =>
      counts.set(each.key, await this.#countText(workspaceId, encoding, each, patience));
    // When the lane refuses or the wait ends, the caller gets an estimate.
    await unless(
      this.#everCounted ? waitMsMax : firstPatienceMs,
      Promise.all(fresh.map(countOne)).catch(() => undefined),
    );
    patience.end();
    const counted = texts.map(({ key }) => counts.get(key));
    return counted.every((each) => each !== undefined) ? counted : undefined;
  }

  #isBehind(waitMsMax: number): boolean {
    return this.#everCounted && this.#turnBeganMs !== undefined && performance.now() - this.#turnBeganMs > waitMsMax;
  }

  /**
   * Counts one text. Returns undefined when the thread did not count it.
   * @throws the errors of the lane, and an error when no caller waits any more
   */
  async #countText(
    workspaceId: string,
    encoding: EncodingName,
    { text, key }: KeyedText,
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
    this.#kept.set(key, tokens, { size: Math.max(1, text.length) });
    return tokens;
  }

  #ask(encoding: EncodingName, text: string): Promise<TextTokens | undefined> {
    return new Promise((done) => {
      this.#wanted.push({ encoding, text, done });
      if (this.#turnBeganMs === undefined) void this.#work();
    });
  }

  /**
   * Runs one turn after another. Pieces that arrive meanwhile, or in the same tick as the first,
   * share the next turn.
   */
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
      // Lets work that waited in the lane join the next turn.
      await nextTurn();
    }
    this.#turnBeganMs = undefined;
  }
}

const noLonger = new Error('The caller no longer waits for this count');

/**
 * The waiter of a count. It creates its abort signal only on demand, because most counts wait in no
 * lane and a signal is expensive.
 */
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
function estimate(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / bytesPerToken);
}

/**
 * Returns the value of the promise, or undefined when it takes longer than `waitMsMax`. A timeout
 * is expected here, so it is not an error.
 */
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
