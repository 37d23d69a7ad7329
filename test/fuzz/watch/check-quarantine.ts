import type { Findings } from '../findings.ts';
import type { World } from '../world.ts';
import type { Flights } from './flights.ts';

interface Quarantined {
  project_id: string;
  reason: string;
  body_bytes: number;
}

const reasonCharsMax = 160;

/**
 * A body of the innocent workspace in the quarantine is a finding. For each body of the attacker,
 * adds a note with a request whose body has the same length.
 */
export async function checkQuarantine(world: World, flights: Flights, findings: Findings): Promise<void> {
  for (const entry of await listQuarantined(world)) {
    const reason = entry.reason.slice(0, reasonCharsMax);
    if (entry.project_id === world.canary.projectId) {
      findings.add(
        'canary',
        `a body of the canary is in the quarantine: ${reason}`,
        JSON.stringify(entry).slice(0, 500),
      );
      continue;
    }
    const bodies = flights.ingested().filter(({ request }) => request.body?.length === entry.body_bytes);
    findings.note(
      `a body of the attacker is in the quarantine: ${reason}`,
      bodies.slice(0, 1).map(({ request }) => request),
    );
  }
}

async function listQuarantined({ apiUrl, adminKey }: World): Promise<Quarantined[]> {
  const entries: Quarantined[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const response = await fetch(`${apiUrl}/api/quarantine?limit=100${query}`, {
      headers: { 'X-Admin-Key': adminKey },
    });
    if (!response.ok)
      throw new Error(`The list of the quarantine got the response ${response.status}: ${await response.text()}`);
    const { data, page } = (await response.json()) as { data: Quarantined[]; page: { next_cursor: string | null } };
    entries.push(...data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return entries;
}
