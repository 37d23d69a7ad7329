import { hash } from 'node:crypto';
import { beginningOf } from '../../../lib/beginning-of.ts';
import { reflectCallKey } from './call-keys.ts';
import {
  bytesPerToken,
  contentHash,
  type MessageTemplate,
  promptTokensOf,
  templatesOf,
  withTemplate,
} from './candidate-content.ts';
import { guardCandidate } from './guard-candidate.ts';
import type { CallOutcome, Candidate, CandidateContent, CandidateOrigin, ChatMessage } from './ports.ts';
import { RunFailed } from './ports.ts';
import { readProposal } from './read-proposal.ts';
import { reflectionRequest, repairRequest, type ShownRow, textsOfRows } from './reflection-request.ts';
import type { SearchRun } from './search-run.ts';

export interface ProposalTask {
  parent: Candidate;
  shown: readonly ShownRow[];
  origin: CandidateOrigin;
  /** Tells apart the proposals of one iteration. */
  slot: number;
}

const failedProposalsMax = 3;
const messageFaultsMax = 2;
const attempts = 2;

/**
 * Asks for a changed candidate, once more if the reply cannot be used or the guard refuses it.
 * @returns undefined if both replies were no use
 * @throws LimitReached; RunFailed after three proposals in a row without a readable reply
 */
export async function proposeCandidate(run: SearchRun, task: ProposalTask): Promise<Candidate | undefined> {
  const template = chooseTemplate(run, task.parent.content);
  const asked = reflectionRequest({
    template,
    others: templatesOf(task.parent.content).filter(({ index }) => index !== template.index),
    ...(run.rules.names.get(template.index) ?? { variables: [], parts: [] }),
    rows: task.shown,
    promptTokensMax: run.rules.promptTokensMax,
    guidance: run.config.search.guidance,
    isRestart: task.origin === 'restart',
  });
  let messages = asked;
  let problem = '';
  let isReadable = false;
  let hasFailed = false;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const outcome = await reflect(run, messages, task.slot * attempts + attempt, hasFailed);
    hasFailed = !outcome.ok;
    if (!outcome.ok) {
      problem = `${outcome.code}: ${outcome.message}`;
      continue;
    }
    const proposal = readProposal(outcome.result.text);
    problem = 'It is not JSON with a template.';
    if (proposal !== undefined) {
      isReadable = true;
      const content = withTemplate(task.parent.content, template.index, proposal.template);
      const candidate = describeCandidate(run, { ...task, content, hypothesis: proposal.hypothesis, attempt });
      const refusal = await guardCandidate(run, { content, index: template.index, shown: textsOfRows(task.shown) });
      if (refusal === undefined) return accept(run, candidate, template);
      // What is kept of its text is as much as a candidate may have.
      const beginning = beginningOf(proposal.template, run.rules.promptTokensMax * bytesPerToken);
      const kept = withTemplate(content, template.index, beginning);
      await run.ports.emit({ type: 'candidate', candidate: { ...candidate, content: kept, rejectReason: refusal } });
      problem = refusal;
    }
    messages = repairRequest(asked, outcome.result.text, problem);
  }
  run.messageFaults.set(template.index, (run.messageFaults.get(template.index) ?? 0) + 1);
  countFailure(run, isReadable, problem);
  return undefined;
}

function accept(run: SearchRun, candidate: Candidate, template: MessageTemplate): Candidate {
  run.seen.add(candidate.hash);
  run.failedProposals = 0;
  run.messageFaults.set(template.index, 0);
  return candidate;
}

/** Describes a candidate before it is evaluated. Its id follows from its content and its place in the run. */
export function describeCandidate(
  run: SearchRun,
  given: {
    parent: Candidate | undefined;
    content: CandidateContent;
    origin: CandidateOrigin;
    hypothesis: string | null;
    slot: number;
    attempt: number;
  },
): Candidate {
  const { parent, content, origin, hypothesis, slot, attempt } = given;
  const candidateHash = contentHash(content);
  return {
    id: hash('sha256', [candidateHash, run.iteration, slot, attempt].join('|')).slice(0, 12),
    hash: candidateHash,
    content,
    parents: parent === undefined ? [] : [parent.id],
    origin,
    hypothesis,
    status: 'rejected_invalid',
    rejectReason: null,
    iteration: run.iteration,
    promptTokens: promptTokensOf(content),
    minibatch: null,
    val: null,
  };
}

/** One message changes at a time, in turn; one whose proposals were bad twice in a row waits. */
function chooseTemplate(run: SearchRun, content: CandidateContent): MessageTemplate {
  const all = templatesOf(content);
  const instructing = all.filter(({ role }) => role !== 'assistant' && role !== 'tool');
  const open = instructing.length > 0 ? instructing : all;
  const sound = open.filter(({ index }) => (run.messageFaults.get(index) ?? 0) < messageFaultsMax);
  const candidates = sound.length > 0 ? sound : open;
  const chosen = candidates[run.iteration % Math.max(1, candidates.length)];
  if (chosen === undefined) throw new RunFailed('internal', 'The prompt has no text that can be changed');
  return chosen;
}

async function reflect(
  run: SearchRun,
  messages: readonly ChatMessage[],
  slot: number,
  afterFailure: boolean,
): Promise<CallOutcome> {
  const { model, params } = run.config.reflection;
  // Some endpoints refuse `response_format`. After a failed call, the second goes without.
  const asksForJson = run.asksForJson && !afterFailure;
  const outcome = await run.ports.call({
    key: reflectCallKey(run.iteration, slot),
    kind: 'reflect',
    phase: 'search',
    model,
    messages,
    params: asksForJson ? { response_format: { type: 'json_object' }, ...params } : params,
  });
  if (outcome.ok && afterFailure) run.asksForJson = false;
  return outcome;
}

/** Only proposals that nobody could read count. One that the guard refuses shows that the model works. */
function countFailure(run: SearchRun, isReadable: boolean, problem: string): void {
  run.failedProposals = isReadable ? 0 : run.failedProposals + 1;
  if (run.failedProposals < failedProposalsMax) return;
  throw new RunFailed('reflection_failed', `${failedProposalsMax} proposals in a row failed. The last: ${problem}`);
}
