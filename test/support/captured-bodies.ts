import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { OtlpEncoding } from '../../src/otlp/media-type.ts';
import type { ExportedSignal } from '../../src/otlp/signal.ts';
import type { AnyValue, Attributes } from '../../src/otlp/span.ts';

interface KeyValue {
  key: string;
  value?: Value;
}

export interface Value {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: string | number;
  doubleValue?: number;
  bytesValue?: string;
  arrayValue?: { values?: Value[] };
  kvlistValue?: { values?: KeyValue[] };
}

export interface Attributed {
  attributes?: KeyValue[];
  droppedAttributesCount?: number;
}

export interface Resourced {
  resource?: Attributed;
  schemaUrl?: string;
}

export interface Scoped {
  scope?: Attributed & { name?: string; version?: string };
  schemaUrl?: string;
}

/** Bodies that real clients sent, each beside what an independent decoder reads in it. */
export class CapturedBodies {
  readonly #folder: string;
  readonly #names: readonly string[];

  constructor(folder: string) {
    this.#folder = folder;
    this.#names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.body.'));
  }

  /** Returns the names of the bodies that were sent to the path of `signal`. */
  of(signal: ExportedSignal): string[] {
    return this.#names.filter((name) => this.#beside<{ url: string }>(name, 'meta').url.endsWith(`/${signal}`));
  }

  read(name: string): { encoding: OtlpEncoding; bytes: Buffer } {
    const bytes = readFileSync(join(this.#folder, name));
    const encoding = name.includes('.json') ? 'json' : 'protobuf';
    return { encoding, bytes: name.endsWith('.gzip') ? gunzipSync(bytes) : bytes };
  }

  decoded<T>(name: string): T {
    return this.#beside<T>(name, 'decoded');
  }

  /** Returns what the manifest counts, by client. */
  manifest<T>(): Record<string, T> {
    return JSON.parse(readFileSync(join(this.#folder, 'manifest.json'), 'utf8'));
  }

  #beside<T>(name: string, kind: string): T {
    return JSON.parse(readFileSync(join(this.#folder, name.replace(/\.body\..*/, `.${kind}.json`)), 'utf8'));
  }
}

/** Converts what the independent decoder read of a resource to ours. */
export function resourced({ resource, schemaUrl = '' }: Resourced) {
  return { resource: { ...attributed(resource), schemaUrl } };
}

/** Converts what the independent decoder read of a scope to ours. */
export function scoped({ scope, schemaUrl = '' }: Scoped) {
  return { scope: { name: scope?.name ?? '', version: scope?.version ?? '', ...attributed(scope), schemaUrl } };
}

/** Converts attributes and their dropped count. */
export function attributed(sent: Attributed | undefined) {
  return {
    attributes: attributes(sent?.attributes),
    droppedAttributesCount: sent?.droppedAttributesCount ?? 0,
  };
}

function attributes(sent: KeyValue[] = []): Attributes {
  return new Map(sent.map(({ key, value }) => [key, anyValue(value ?? {})]));
}

/** Converts a value. */
export function anyValue(value: Value): AnyValue {
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.intValue !== undefined) return BigInt(value.intValue);
  if (value.doubleValue !== undefined) return value.doubleValue;
  if (value.bytesValue !== undefined) return new Uint8Array(Buffer.from(value.bytesValue, 'base64'));
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(anyValue);
  return value.kvlistValue === undefined ? null : attributes(value.kvlistValue.values);
}
