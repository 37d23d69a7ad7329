import { hash } from 'node:crypto';

/** SHA-256 in hex of a template's text as it is, without parts, configuration or messages. */
export function templateHash(template: string): string {
  return hash('sha256', template);
}
