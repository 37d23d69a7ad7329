import type { IdentityProviderName } from '../../queue/identity-event.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { clerk } from './providers/clerk.ts';
import { generic } from './providers/generic.ts';
import { workos } from './providers/workos.ts';

/** All providers by their name in the path. Other senders of Standard Webhooks use `generic`. */
export const identityProviders: Readonly<Record<IdentityProviderName, IdentityProvider>> = { clerk, workos, generic };
