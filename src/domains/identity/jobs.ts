export { type ApplyOrGiveUpDeps, applyOrGiveUp } from './apply-or-give-up.ts';
export { pruneIdentityEvents } from './prune-identity-events.ts';
