import { reportsUsage } from '../../lib/span-kind.ts';
import { buildTree, type StartedSpan, type TreeNode } from '../../lib/span-tree.ts';
import type { SpanPrompt } from './prompt.ts';

/** The fields of a span that linking needs. Ids are unique within one trace. */
export interface LinkableSpan extends StartedSpan {
  kind: string;
  responseId: string;
  prompt: SpanPrompt | null;
  usage?: object | null;
  costNanoUsd?: bigint | null;
}

/**
 * Returns the prompt of every span that has one, by span id. A model call without a prompt inherits
 * that of the nearest span above. A template text without a known prompt is replaced by a prompt
 * from above. O(n), no recursion.
 */
export function linkPrompts(spans: readonly LinkableSpan[]): Map<string, SpanPrompt> {
  return walk(spans).links;
}

/**
 * Returns the uses of prompts in one trace, by the id of the span that counts. Every model call
 * with a prompt counts; of nested calls with one response id only the innermost that reports usage does, as in
 * `sumUsage`, or the innermost if none reports it. Another span
 * that names a prompt counts if no span below it is a model call or names the same prompt.
 */
export function promptCalls(spans: readonly LinkableSpan[]): Map<string, SpanPrompt> {
  return walk(spans).calls;
}

/** Returns a key that two mentions share if they mean the same version of the same prompt. */
export function promptKey({ id, name, key, version }: Pick<SpanPrompt, 'id' | 'name' | 'key' | 'version'>): string {
  // The length marks where the name ends, because the name may contain any character.
  return id === '' ? `${name.length}:${name}${key}:${version}` : `${id}:${version}`;
}

interface Links {
  links: Map<string, SpanPrompt>;
  calls: Map<string, SpanPrompt>;
}

/** State of the walk for one span. */
interface Visit {
  node: TreeNode<LinkableSpan>;
  above: Visit | undefined;
  /** The prompt that model calls below inherit. */
  handsDown: SpanPrompt | null;
  callBelow: boolean;
  /** Whether another span is the same use and counts: one below, or {@link repeats}. */
  superseded: boolean;
  /** The call above that this one shows again, without its usage. */
  repeats: Visit | undefined;
  /**
   * Entries of outer spans in `open` that this span replaced. They are restored when the walk
   * leaves it.
   */
  hidden: { key: string; visit: Visit | undefined }[];
  left: boolean;
}

function walk(spans: readonly LinkableSpan[]): Links {
  const result: Links = { links: new Map(), calls: new Map() };
  if (spans.every(({ prompt }) => prompt === null)) return result;
  const open = new Map<string, Visit>();
  const stack = buildTree(spans).tops.map((node) => visitOf(node, undefined));
  for (let visit = stack.at(-1); visit !== undefined; visit = stack.at(-1)) {
    if (visit.left) {
      stack.pop();
      leave(visit, open, result);
    } else {
      visit.left = true;
      enter(visit, open);
      for (const child of visit.node.children) stack.push(visitOf(child, visit));
    }
  }
  return result;
}

function visitOf(node: TreeNode<LinkableSpan>, above: Visit | undefined): Visit {
  const handsDown = nearer(node.span.prompt, above?.handsDown ?? null);
  return { node, above, handsDown, callBelow: false, superseded: false, repeats: undefined, hidden: [], left: false };
}

/**
 * Marks outer spans that show the same use. Nested spans can show one use; only the innermost
 * counts.
 */
function enter(visit: Visit, open: Map<string, Visit>): void {
  const { kind, responseId, prompt } = visit.node.span;
  const uses: string[] = [];
  if (kind === 'llm' && responseId !== '') uses.push(`call ${responseId}`);
  if (kind !== 'llm' && prompt !== null) uses.push(`prompt ${promptKey(prompt)}`);
  for (const key of uses) {
    const outer = open.get(key);
    if (kind === 'llm' && outer !== undefined && reportsUsage(outer.node.span) && !reportsUsage(visit.node.span)) {
      visit.superseded = true;
      visit.repeats = outer;
      return;
    }
    if (outer !== undefined) outer.superseded = true;
    visit.hidden.push({ key, visit: outer });
    open.set(key, visit);
  }
}

function leave(visit: Visit, open: Map<string, Visit>, { links, calls }: Links): void {
  for (const { key, visit: outer } of visit.hidden) {
    if (outer === undefined) open.delete(key);
    else open.set(key, outer);
  }
  const { span } = visit.node;
  const isCall = span.kind === 'llm';
  const link = isCall ? asOf(span, visit.handsDown) : span.prompt;
  if (visit.above !== undefined && (isCall || visit.callBelow)) visit.above.callBelow = true;
  if (link === null) return;
  links.set(span.spanId, link);
  const { repeats } = visit;
  if (repeats !== undefined && span.prompt !== null) {
    repeats.handsDown = nearer(repeats.node.span.prompt, nearer(span.prompt, repeats.handsDown));
  }
  if (!visit.superseded && (isCall || !visit.callBelow)) calls.set(span.spanId, link);
}

function asOf(span: LinkableSpan, prompt: SpanPrompt | null): SpanPrompt | null {
  return prompt === null || prompt === span.prompt ? prompt : { ...prompt, source: 'inherited' };
}

function nearer(own: SpanPrompt | null, above: SpanPrompt | null): SpanPrompt | null {
  if (own === null) return above;
  return above !== null && isTextOnly(own) && !isTextOnly(above) ? above : own;
}

function isTextOnly({ id, name }: SpanPrompt): boolean {
  return id === '' && name === '';
}
