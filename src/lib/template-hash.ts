import { hash } from 'node:crypto';

/**
 * Returns the SHA-256 in hex of a template's own text, without its parts, configuration or
 * messages.
 */
export function templateHash(template: string): string {
  return hash('sha256', template);
}
