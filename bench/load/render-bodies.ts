import type { Body } from './bodies.ts';

const noIds = Buffer.alloc(0);
const retrieved =
  'Refunds are paid within five working days to the card that was charged. Orders above 200 euros need a signature.';

/** Creates bodies of `POST render` for the prompt of the scenario. Each body has a different question. */
export function createRenderBodies(count: number): Body[] {
  return Array.from({ length: count }, (_, index) => ({
    bytes: Buffer.from(
      JSON.stringify({
        label: 'production',
        variables: {
          question: `Where is my order number ${index}, and when is it paid back?`,
          customer: { name: 'Ada Lovelace', plan: 'team' },
          passages: [{ text: retrieved }, { text: retrieved }],
        },
      }),
    ),
    traceIds: noIds,
    spanIds: noIds,
  }));
}
