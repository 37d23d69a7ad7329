import { InvalidError } from '../../lib/errors.ts';
import { notationFault, type TargetPolicy, targetFault } from './target.ts';

/**
 * Checks that webhooks may be sent to a URL.
 * @throws InvalidError
 */
export function requireTarget(url: string, policy: TargetPolicy): void {
  const message = targetFault(url, policy) ?? notationFault(url);
  if (message === undefined) return;
  throw new InvalidError('invalid_body', `url: ${message}`, {
    errors: [{ path: 'url', code: 'target_not_allowed', message }],
  });
}
