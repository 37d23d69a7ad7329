import { randomFillSync } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type BodyTemplate, createBodyTemplate } from './body-template.ts';

export interface Body {
  /** Protobuf compressed with gzip, ready to send. */
  bytes: Buffer;
  /** The trace ids as a sequence of 16 bytes each. */
  traceIds: Buffer;
  /** The span ids, trace after trace, as a sequence of 8 bytes each. */
  spanIds: Buffer;
}

export interface BodySpec {
  count: number;
  spansPerBody: number;
  /** The first four bytes, as hex, of every trace id of a scenario. The other bytes are random. */
  traceIdPrefix: string;
}

const compress = promisify(gzip);
const gzipLevel = 6;
/** Number of distinct texts. Each body has its own ids and times. */
const templateCount = 48;
const concurrency = 4;

/** Creates unique bodies: valid protobuf with new ids and with times that end now. */
export async function createBodies(spec: BodySpec): Promise<{ bodies: Body[]; plainBytes: number }> {
  const templates = Array.from({ length: Math.min(templateCount, spec.count) }, (_, seed) =>
    createBodyTemplate(seed + 1, spec.spansPerBody),
  );
  const bodies: Body[] = [];
  let next = 0;
  let plainBytes = 0;
  const work = async () => {
    while (next < spec.count) {
      const template = templates[next++ % templates.length];
      if (template === undefined) return;
      const { bytes, ...ids } = stamp(template, spec.traceIdPrefix);
      plainBytes += bytes.length;
      bodies.push({ bytes: await compress(bytes, { level: gzipLevel }), ...ids });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { bodies, plainBytes };
}

function stamp(template: BodyTemplate, traceIdPrefix: string): Body {
  const bytes = Buffer.from(template.bytes);
  const traceIds = randomFillSync(Buffer.allocUnsafe(template.traceIds.length * 16));
  template.traceIds.forEach((offsets, index) => {
    traceIds.write(traceIdPrefix, index * 16, 'hex');
    for (const offset of offsets) traceIds.copy(bytes, offset, index * 16, index * 16 + 16);
  });
  const spanIds = randomFillSync(Buffer.allocUnsafe(template.spanIds.length * 8));
  template.spanIds.forEach((offsets, index) => {
    for (const offset of offsets) spanIds.copy(bytes, offset, index * 8, index * 8 + 8);
  });
  const nowNano = BigInt(Date.now()) * 1_000_000n;
  for (const { offsets, sinceNano } of template.times) {
    for (const offset of offsets) bytes.writeBigUInt64LE(nowNano + sinceNano, offset);
  }
  return { bytes, traceIds, spanIds };
}
