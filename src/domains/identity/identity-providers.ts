import type { IdentityProviderName } from '../../queue/identity-event.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { clerk } from './providers/clerk.ts';
import { generic } from './providers/generic.ts';
import { workos } from './providers/workos.ts';

/** Every provider by its name in the path. Another that sends Standard Webhooks needs no row: it is `generic`. */
export const identityProviders: Readonly<Record<IdentityProviderName, IdentityProvider>> = { clerk, workos, generic };
