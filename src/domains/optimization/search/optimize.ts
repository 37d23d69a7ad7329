import { type Optimize, RunFailed } from './ports.ts';

/** Placeholder until the search is in this tree. */
export const optimize: Optimize = () => Promise.reject(new RunFailed('internal', 'The search is not in this build'));
