export { type ApplyIdentityEventDeps, applyIdentityEvent } from './apply-identity-event.ts';
export { identityEndpoints } from './identity.routes.ts';
export { deleteIdentityEvents } from './identity-event-store.ts';
