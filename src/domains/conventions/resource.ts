import type { Attributes, Resource } from '../../otlp/span.ts';
import { attributes, field } from './candidates.ts';
import { text } from './read-value.ts';

const environmentKeys = ['deployment.environment.name', 'deployment.environment', 'langfuse.environment'];
const releaseKeys = ['service.version', 'langfuse.release'];
const serviceKeys = ['service.name'];

/** Read from spans, for clients that cannot set resource attributes. */
export const spanEnvironment = field('environment', attributes(environmentKeys, text));
export const spanRelease = field('release', attributes(releaseKeys, text));

export interface Deployment {
  service: string;
  environment: string;
  release: string;
}

/** All spans of a batch share their resource, so each resource is read once. */
const known = new WeakMap<Resource, Deployment>();

/** Returns service, environment and release of a resource; '' when not set. */
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
