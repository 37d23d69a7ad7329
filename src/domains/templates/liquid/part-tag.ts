import {
  type Arguments,
  type Context,
  type Emitter,
  Hash,
  type Liquid,
  Tag,
  type TagToken,
  type TopLevelToken,
  TypeGuards,
} from 'liquidjs';
import { templateLimits } from '../limits.ts';
import type { ArgumentPaths, Given } from '../look-up.ts';
import { readReference } from '../mustache/part-tag.ts';
import type { RenderScope } from '../render-scope.ts';
import { writtenTag } from './written-tag.ts';

/**
 * The render that a Liquid instance is currently running. Templates are compiled once, and their
 * tags only know the instance.
 */
export interface Running {
  scope: RenderScope;
  /** Returns undefined for an unknown part whose tag is to be kept as written. */
  renderPart: (ref: string, given: Given, unconditional: boolean) => string | undefined;
}

export const running = new WeakMap<Liquid, Running>();

/**
 * The tag `{% render 'slug@3', tone: "formal", who: user.name %}`. It replaces LiquidJS's own tag,
 * which reads files, takes names from variables and cannot render parts of another format.
 */
export class PartTag extends Tag {
  readonly slug: string;
  readonly ref: string;
  readonly hash: Hash;
  /** Set when the tree around the tag is known, as is `paths`. */
  unconditional = false;
  paths: ArgumentPaths = new Map();

  constructor(token: TagToken, remainTokens: TopLevelToken[], liquid: Liquid) {
    super(token, remainTokens, liquid);
    this.tokenizer.skipBlank();
    const called = readReference(this.tokenizer.readQuoted()?.getText().slice(1, -1) ?? '');
    if (called === undefined)
      throw new Error("render needs the slug of a part in quotes: 'slug', 'slug@3' or 'slug@label'");
    this.slug = called.slug;
    this.ref = called.ref;
    this.tokenizer.skipBlank();
    if (!this.tokenizer.end() && this.tokenizer.peek() !== ',') {
      throw new Error('render needs its arguments after a comma, as name: value. `with` and `for` are not supported');
    }
    this.hash = new Hash(this.tokenizer, liquid.options.keyValueSeparator);
    if (Object.keys(this.hash.hash).length > templateLimits.argumentsMax) {
      throw new Error(`A part may have at most ${templateLimits.argumentsMax} arguments`);
    }
  }

  *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const values = yield this.hash.render(ctx);
    const value = Object.assign(Object.create(null), values);
    const { ref, unconditional } = this;
    const text = running.get(this.liquid)?.renderPart(ref, { value, paths: this.paths }, unconditional);
    if (text === undefined) emitter.write(writtenTag(this.token));
    // Bypasses `write`, because the part has already counted its text on the budget.
    else emitter.buffer += text;
  }

  *arguments(): Arguments {
    for (const token of Object.values(this.hash.hash)) if (TypeGuards.isValueToken(token)) yield token;
  }
}
