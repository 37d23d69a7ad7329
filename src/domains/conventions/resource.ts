import type { Attributes, Resource } from '../../otlp/span.ts';
import { attributes, field } from './candidates.ts';
import { text } from './read-value.ts';

const environmentKeys = ['deployment.environment.name', 'deployment.environment', 'langfuse.environment'];
const releaseKeys = ['service.version', 'langfuse.release'];
const serviceKeys = ['service.name'];

/** On spans, for clients that cannot set resource attributes. */
export const spanEnvironment = field('environment', attributes(environmentKeys, text));
export const spanRelease = field('release', attributes(releaseKeys, text));

export interface Deployment {
  service: string;
  environment: string;
  release: string;
}

/** Resources are shared by all spans of a batch, so each is read once. */
const known = new WeakMap<Resource, Deployment>();

export function deploymentOf(resource: Resource): Deployment {
  const found = known.get(resource);
  if (found !== undefined) return found;
  const read = {
    service: firstText(resource.attributes, serviceKeys),
    environment: firstText(resource.attributes, environmentKeys),
    release: firstText(resource.attributes, releaseKeys),
  };
  known.set(resource, read);
  return read;
}

function firstText(from: Attributes, keys: readonly string[]): string {
  for (const key of keys) {
    const found = text(from.get(key) ?? null);
    if (found !== undefined) return found;
  }
  return '';
}
