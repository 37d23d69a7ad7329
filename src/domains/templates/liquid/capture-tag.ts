import { CaptureTag, type Context, type Emitter } from 'liquidjs';
import { textOf } from '../insert-value.ts';
import { isMissing } from '../look-up.ts';
import type { RenderScope } from '../render-scope.ts';
import { running } from './part-tag.ts';

/**
 * The tag `{% capture name %}…{% endcapture %}`. Unlike LiquidJS's own tag, it captures objects and lists as JSON, as they
 * are inserted elsewhere.
 */
export class JsonCaptureTag extends CaptureTag {
  override *render(ctx: Context): Generator<unknown, void, string> {
    const scope = running.get(this.liquid)?.scope;
    if (scope === undefined) throw new Error('A capture must be rendered by renderLiquid');
    const captured = new CaptureEmitter(scope, ctx);
    yield this.liquid.renderer.renderTemplates(this.templates, ctx, captured);
    ctx.bottom()[this.variable] = captured.buffer;
  }
}

/** Emitter whose text is not output yet. JSON is new text, so it counts for LiquidJS's limit of memory. */
class CaptureEmitter implements Emitter {
  buffer = '';
  readonly #scope: RenderScope;
  readonly #ctx: Context;

  constructor(scope: RenderScope, ctx: Context) {
    this.#scope = scope;
    this.#ctx = ctx;
  }

  write(value: unknown): void {
    if (isMissing(value)) return;
    const text = textOf(value, this.#scope.budget);
    if (typeof value === 'object') this.#ctx.memoryLimit.use(text.length);
    this.buffer += text;
  }
}
