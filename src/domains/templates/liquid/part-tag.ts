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
import type { Given } from '../look-up.ts';
import { readReference } from '../mustache/part-tag.ts';
import type { RenderScope } from '../render-scope.ts';
import { writtenTag } from './written-tag.ts';

/** The render an engine is in the middle of: templates are compiled once, and their tags know nothing but the engine. */
export interface Running {
  scope: RenderScope;
  /** undefined for a part that does not exist and is to be left as it is written. */
  renderPart: (ref: string, given: Given, unconditional: boolean) => string | undefined;
}

export const running = new WeakMap<Liquid, Running>();

/**
 * `{% render 'slug@3', tone: "formal", who: user.name %}` in place of LiquidJS's own tag, which takes files, names out of
 * variables, and no parts of another format.
 */
export class PartTag extends Tag {
  readonly slug: string;
  readonly ref: string;
  readonly hash: Hash;
  /** Set once the tree around the tag is known. */
  unconditional = false;

  constructor(token: TagToken, remainTokens: TopLevelToken[], liquid: Liquid) {
    super(token, remainTokens, liquid);
    this.tokenizer.skipBlank();
    const called = readReference(this.tokenizer.readQuoted()?.getText().slice(1, -1) ?? '');
    if (called === undefined) throw new Error("render takes a part's slug in quotes: 'slug', 'slug@3' or 'slug@label'");
    this.slug = called.slug;
    this.ref = called.ref;
    this.tokenizer.skipBlank();
    if (!this.tokenizer.end() && this.tokenizer.peek() !== ',') {
      throw new Error('render takes its arguments after a comma, as name: value; `with` and `for` are not offered');
    }
    this.hash = new Hash(this.tokenizer, liquid.options.keyValueSeparator);
    if (Object.keys(this.hash.hash).length > templateLimits.argumentsMax) {
      throw new Error(`A part takes at most ${templateLimits.argumentsMax} arguments`);
    }
  }

  *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const values = yield this.hash.render(ctx);
    const value = Object.assign(Object.create(null), values);
    const { ref, unconditional } = this;
    const text = running.get(this.liquid)?.renderPart(ref, { value, paths: this.paths() }, unconditional);
    if (text === undefined) emitter.write(writtenTag(this.token));
    // Not written: the part has already paid for its text.
    else emitter.buffer += text;
  }

  *arguments(): Arguments {
    for (const token of Object.values(this.hash.hash)) if (TypeGuards.isValueToken(token)) yield token;
  }

  /** The arguments that are variables, by the variable's path. */
  paths(): Map<string, string> {
    return new Map(
      Object.entries(this.hash.hash).flatMap(([name, token]) =>
        token !== undefined && TypeGuards.isPropertyAccessToken(token) ? [[name, token.getText()] as const] : [],
      ),
    );
  }
}
