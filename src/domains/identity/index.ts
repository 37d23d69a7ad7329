export { type ApplyIdentityEventDeps, applyIdentityEvent } from './apply-identity-event.ts';
export { deleteIdentityEvents } from './identity-event-store.ts';
