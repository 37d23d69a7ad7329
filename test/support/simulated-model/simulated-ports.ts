import { scoreApart } from '../../../src/domains/prompt-search/metrics/score-apart.ts';
import {
  type Analysis,
  type CallOutcome,
  type CandidateContent,
  type ChatMessage,
  LimitReached,
  type ModelCall,
  type PlannedCall,
  type Remaining,
  type SearchEvent,
  type SearchPorts,
} from '../../../src/domains/prompt-search/search/ports.ts';
import { InvalidTemplateError } from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { renderSource } from '../templates.ts';
import { tokensOf } from './rolls.ts';
import { simulatedReply } from './simulated-reply.ts';
import type { SimulatedTask } from './simulated-task.ts';

export interface SimulatedPortsOptions<F> {
  task: SimulatedTask<F>;
  seed?: number;
  /** Calls of the run; no limit by default. */
  callsMax?: number;
  /** Tokens of the run, by the estimate before a call and by the use after it. */
  tokensMax?: number;
  /** Answers instead of the simulated models, if it returns an outcome. */
  intercept?: (call: ModelCall, number: number) => CallOutcome | undefined;
  signal?: AbortSignal;
}

export interface SimulatedPorts {
  ports: SearchPorts;
  /** Calls that were allowed, in the order in which they were made. */
  calls: ModelCall[];
  events: SearchEvent[];
  reserved(): { calls: number; tokens: number };
}

const nanoPerToken = 150n;
const outputTokensMax = 64;

/** Returns ports of a search whose models are simulated in this process, with a ledger that never overspends. */
export function simulatedPorts<F>(options: SimulatedPortsOptions<F>): SimulatedPorts {
  const { task, seed = 1, intercept, signal = new AbortController().signal } = options;
  const limits = {
    calls: options.callsMax ?? Number.POSITIVE_INFINITY,
    tokens: options.tokensMax ?? Number.POSITIVE_INFINITY,
  };
  const calls: ModelCall[] = [];
  const events: SearchEvent[] = [];
  const spent = { calls: 0, tokens: 0 };
  let kept = { calls: 0, tokens: 0 };

  const remaining = (phase: ModelCall['phase']): Remaining => {
    const reserve = phase === 'search' ? kept : { calls: 0, tokens: 0 };
    return {
      calls: Math.max(0, limits.calls - spent.calls - reserve.calls),
      tokens: Math.max(0, limits.tokens - spent.tokens - reserve.tokens),
      costNanoUsd: null,
    };
  };

  async function call(made: ModelCall): Promise<CallOutcome> {
    signal.throwIfAborted();
    const left = remaining(made.phase);
    if (left.calls < 1) throw new LimitReached('budget_calls');
    if (left.tokens < estimate(made).tokens) throw new LimitReached('budget_tokens');
    calls.push(made);
    spent.calls++;
    const outcome = intercept?.(made, calls.length) ?? reply(made);
    const tokens = outcome.ok ? outcome.result.inputTokens + outcome.result.outputTokens : 0;
    spent.tokens += tokens;
    if (made.phase === 'holdout') {
      kept = { calls: Math.max(0, kept.calls - 1), tokens: Math.max(0, kept.tokens - tokens) };
    }
    return outcome;
  }

  function reply({ model, messages, params, sampleIx = 0 }: ModelCall): CallOutcome {
    const text = messages.map(({ content }) => content).join('\n');
    const isJson = params.response_format !== undefined;
    const answer = simulatedReply(task, { model, text, isJson }, { seed, sample: sampleIx });
    const [inputTokens, outputTokens] = [tokensOf(text), tokensOf(answer)];
    const costNanoUsd = BigInt(inputTokens + outputTokens) * nanoPerToken;
    // Nobody waits, so the time follows from the length.
    return { ok: true, result: { text: answer, inputTokens, outputTokens, costNanoUsd, latencyMs: inputTokens } };
  }

  const ports: SearchPorts = {
    call,
    remaining,
    reserveHoldout(need) {
      kept = { calls: need.calls, tokens: need.tokens };
    },
    estimate,
    render: async (content, inputs) => renderContent(content, inputs),
    analyze: async (content) => analyze(content),
    score: async (metric, input) => scoreApart(metric, input),
    async emit(event) {
      events.push(event);
    },
    signal,
  };
  return { ports, calls, events, reserved: () => kept };
}

function estimate({ messages, addedBytes = 0 }: PlannedCall): { tokens: number; costNanoUsd: bigint } {
  const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), addedBytes);
  const tokens = Math.ceil(bytes / 3) + outputTokensMax;
  return { tokens, costNanoUsd: BigInt(tokens) * nanoPerToken };
}

function renderContent(content: CandidateContent, inputs: Readonly<Record<string, unknown>>): ChatMessage[] {
  const render = (template: string) => renderSource(template, inputs).text;
  if (content.type === 'text') return [{ role: 'user', content: render(content.template) }];
  return content.messages.flatMap((message) =>
    'placeholder' in message ? [] : [{ role: message.role, content: render(message.content) }],
  );
}

function analyze(content: CandidateContent): Analysis {
  const templates =
    content.type === 'text'
      ? [content.template]
      : content.messages.flatMap((message) => ('placeholder' in message ? [] : [message.content]));
  try {
    const parsed = templates.map((template) => parseMustache(template));
    const uses = parsed.flatMap((each) => each.variables);
    const pathsOf = (of: typeof uses) => [...new Set(of.map(({ path }) => path))];
    const parts = parsed.flatMap((each) => each.parts.map(({ ref }) => ref));
    const required = pathsOf(uses.filter(({ unconditional }) => unconditional));
    return { ok: true, variables: pathsOf(uses), required, parts: [...new Set(parts)] };
  } catch (error) {
    if (error instanceof InvalidTemplateError) return { ok: false, problem: error.message };
    throw error;
  }
}
