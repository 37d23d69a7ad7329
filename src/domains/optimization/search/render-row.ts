import { InvalidError } from '../../../lib/errors.ts';
import type { CandidateContent, ChatMessage, Row, SearchPorts } from './ports.ts';

/**
 * Renders a candidate for a row. A template can parse and still fail with the values of a row, for
 * example because the text gets too long: this is an error of the row, not of the run.
 */
export async function renderRow(
  ports: Pick<SearchPorts, 'render'>,
  content: CandidateContent,
  { inputs }: Pick<Row, 'inputs'>,
): Promise<{ messages: ChatMessage[] } | { problem: string }> {
  try {
    return { messages: await ports.render(content, inputs) };
  } catch (error) {
    if (error instanceof InvalidError) return { problem: error.message };
    throw error;
  }
}
