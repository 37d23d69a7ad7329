import type { FuzzRequest } from './requests/request.ts';

export type FindingKind =
  | 'restart'
  | 'server error'
  | 'crossed tenants'
  | 'canary'
  | 'lost'
  | 'stall'
  | 'no answer'
  | 'contract';
/** In the order of how bad they are. */
export const findingKinds: readonly FindingKind[] = [
  'restart',
  'server error',
  'crossed tenants',
  'canary',
  'lost',
  'stall',
  'no answer',
  'contract',
];

export interface Finding {
  kind: FindingKind;
  /** The same for the same fault, whatever the request. */
  title: string;
  detail: string;
  /** Seen this often. */
  count: number;
  /** Those of the first time; with more than one, any of them may be the culprit. */
  requests: readonly FuzzRequest[];
}

/** What a run has found, each fault once. */
export class Findings {
  readonly #byTitle = new Map<string, Finding>();
  /** Told apart from findings: refusals that a load of the fuzzer's own may bring about, and the like. */
  readonly notes = new Map<string, { count: number; requests: readonly FuzzRequest[] }>();

  add(kind: FindingKind, title: string, detail: string, requests: readonly FuzzRequest[] = []): void {
    const known = this.#byTitle.get(title);
    if (known === undefined) this.#byTitle.set(title, { kind, title, detail, count: 1, requests });
    else known.count++;
  }

  note(what: string, requests: readonly FuzzRequest[] = []): void {
    const known = this.notes.get(what) ?? { count: 0, requests };
    this.notes.set(what, { ...known, count: known.count + 1 });
  }

  /** Worst first. */
  all(): Finding[] {
    return [...this.#byTitle.values()].sort((a, b) => findingKinds.indexOf(a.kind) - findingKinds.indexOf(b.kind));
  }
}
