import { type Optimize, RunFailed } from './search/ports.ts';
import type { SendChat } from './send-chat.ts';

/** Stands in for search/optimize.ts until both are in one tree. */
export const search: Optimize = () => Promise.reject(new RunFailed('internal', 'The search is not in this build'));

/** Stands in for src/llm until both are in one tree. */
export const send: SendChat = () => Promise.reject(new RunFailed('internal', 'No endpoint is configured'));
