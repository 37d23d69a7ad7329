import { type Context, type Emitter, type Liquid, type Template, TypeGuards } from 'liquidjs';
import { isMissing } from '../look-up.ts';
import { recordMissing } from '../render-scope.ts';
import { expressionOf, hasDefault, walk } from './find-facts.ts';
import { PartTag, running } from './part-tag.ts';
import { writtenTag } from './written-tag.ts';

/**
 * Changes a freshly parsed template: its outputs record missing variables, and its part tags learn
 * whether they are unconditional.
 */
export function trackOutputs(liquid: Liquid, templates: readonly Template[]): void {
  walk(templates, true, [], (template, unconditional) => {
    if (template instanceof PartTag) template.unconditional = unconditional;
    const value = expressionOf(template);
    const [token, ...others] = value?.initial.postfix ?? [];
    if (!value || !token || others.length > 0 || !TypeGuards.isPropertyAccessToken(token) || hasDefault(value)) return;
    const render = template.render.bind(template);
    template.render = function* (ctx: Context, emitter: Emitter): Generator<unknown, unknown, unknown> {
      const scope = running.get(liquid)?.scope;
      if (!scope || !isMissing(yield value.initial.evaluate(ctx, true))) return yield render(ctx, emitter);
      recordMissing(scope, token.getText(), false);
      if (scope.onMissing !== 'keep') return yield render(ctx, emitter);
      return emitter.write(writtenTag(template.token));
    };
  });
}
