import { type Context, type Emitter, type Liquid, type Template, TypeGuards } from 'liquidjs';
import { type ArgumentPaths, isMissing } from '../look-up.ts';
import { recordMissing } from '../render-scope.ts';
import { type IsGlobal, readAccess } from './accesses.ts';
import { expressionOf, hasDefault, walk } from './find-facts.ts';
import { PartTag, running } from './part-tag.ts';
import { writtenTag } from './written-tag.ts';

/**
 * Changes a freshly parsed template: its outputs record missing variables, and its part tags learn
 * whether they are unconditional and which variables their arguments are.
 */
export function trackOutputs(liquid: Liquid, templates: readonly Template[], isGlobal: IsGlobal): void {
  walk(templates, true, [], (template, unconditional) => {
    if (template instanceof PartTag) {
      template.unconditional = unconditional;
      template.paths = pathsOf(template, isGlobal);
    }
    const value = expressionOf(template);
    const [token, ...others] = value?.initial.postfix ?? [];
    if (!value || !token || others.length > 0 || !TypeGuards.isPropertyAccessToken(token) || hasDefault(value)) return;
    // A property of a literal is no variable.
    if (token.variable !== undefined) return;
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

/**
 * Returns the paths of the arguments that are variables. The others are null: literals, names that the template defines
 * itself, and values without a path, such as `texts[language]`.
 */
function pathsOf({ hash }: PartTag, isGlobal: IsGlobal): ArgumentPaths {
  return new Map(
    Object.entries(hash.hash).map(([name, token]) => {
      if (token === undefined || !TypeGuards.isPropertyAccessToken(token)) return [name, null];
      const { segments, isWhole } = readAccess(token);
      return [name, isWhole && isGlobal(token) ? segments.join('.') : null];
    }),
  );
}
