import { hash } from 'node:crypto';

/**
 * Returns the SHA-256 in hex of a template's own text, without its parts, configuration or
 * messages.
 */
export function templateHash(template: string): string {
  return hash('sha256', template);
}

const templatePrefix = 'sha256:';

/** Returns the key by which a template text is searched for. */
export function templateKey(template: string): string {
  return templatePrefix + templateHash(template);
}

/** Returns the hash in a {@link templateKey}, or undefined for any other text. */
export function hashOfTemplateKey(key: string): string | undefined {
  return key.startsWith(templatePrefix) ? key.slice(templatePrefix.length) : undefined;
}
