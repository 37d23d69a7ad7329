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
/** The most serious kind is first. */
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
  /** The same fault has the same title, whatever the request. */
  title: string;
  detail: string;
  /** Number of occurrences. */
  count: number;
  /** The requests of the first occurrence. If there are several, any of them may be the cause. */
  requests: readonly FuzzRequest[];
}

/** The findings of a run. Each fault is included once. */
export class Findings {
  readonly #byTitle = new Map<string, Finding>();
  /** Observations that are not faults, such as refusals that the load of the fuzzer can cause. */
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

  /** Returns all findings, the most serious first. */
  all(): Finding[] {
    return [...this.#byTitle.values()].sort((a, b) => findingKinds.indexOf(a.kind) - findingKinds.indexOf(b.kind));
  }
}
