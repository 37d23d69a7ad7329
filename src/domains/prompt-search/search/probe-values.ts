import { findTexts } from './find-texts.ts';
import type { CandidateContent, Row, SearchPorts } from './ports.ts';
import { renderRow } from './render-row.ts';

/** Inputs whose texts are marks, which occur nowhere else, and the paths of the marks that a template shows. */
export interface Probe {
  inputs: Row['inputs'];
  /** By the mark, because a map copies its keys, and the paths below a long name are long. */
  shown: ReadonlyMap<string, string>;
}

/** If marks cannot be rendered all at once, so many variables are tried one by one. */
const variablesMax = 20;
/** Marks have as many digits each, so none is part of another. No filter for texts changes digits. */
const firstMark = 71_840_301;
const betweenMarks = 7;

/**
 * Finds the values of inputs that a template shows, by rendering it with marks in their place. A
 * number stays as it is, because a template can count to it. An input schema can refuse marks: those
 * values are not found.
 */
export async function probeValues(
  ports: Pick<SearchPorts, 'render'>,
  content: CandidateContent,
  { inputs }: Pick<Row, 'inputs'>,
): Promise<Probe[]> {
  const whole = await probe(ports, content, mark(inputs, Object.keys(inputs)));
  if (whole !== undefined) return [whole];
  const probes: Probe[] = [];
  for (const name of Object.keys(inputs).slice(0, variablesMax)) {
    const found = await probe(ports, content, mark(inputs, [name]));
    if (found !== undefined) probes.push(found);
  }
  return probes;
}

/**
 * Returns the path of a value that the probes show and this template does not, or undefined. A template
 * that cannot be rendered with a probe shows nothing of it.
 */
export async function findHidden(
  ports: Pick<SearchPorts, 'render'>,
  content: CandidateContent,
  probes: readonly Probe[],
): Promise<string | undefined> {
  for (const { inputs, shown } of probes) {
    const text = await textWith(ports, content, inputs);
    const found = await findTexts(text ?? '', new Set(shown.keys()));
    for (const [value, path] of shown) if (!found.has(value)) return path;
  }
  return undefined;
}

interface Marked {
  inputs: Row['inputs'];
  /** The path of each value by its text; of equal numbers, that of the first. */
  values: ReadonlyMap<string, string>;
}

async function probe(
  ports: Pick<SearchPorts, 'render'>,
  content: CandidateContent,
  { inputs, values }: Marked,
): Promise<Probe | undefined> {
  const text = await textWith(ports, content, inputs);
  if (text === undefined) return undefined;
  const wanted = new Set(values.keys());
  const [inText, inSource] = [await findTexts(text, wanted), await findTexts(JSON.stringify(content), wanted)];
  return { inputs, shown: new Map([...values].filter(([value]) => inText.has(value) && !inSource.has(value))) };
}

async function textWith(
  ports: Pick<SearchPorts, 'render'>,
  content: CandidateContent,
  inputs: Row['inputs'],
): Promise<string | undefined> {
  const rendered = await renderRow(ports, content, { inputs });
  return 'problem' in rendered ? undefined : rendered.messages.map((message) => message.content).join('\n');
}

/** Puts marks in place of the texts of some variables, at any depth. */
function mark(inputs: Row['inputs'], names: readonly string[]): Marked {
  const values = new Map<string, string>();
  const note = (value: string, path: string) => values.has(value) || values.set(value, path);
  let marks = 0;
  const walk = (value: unknown, path: string): unknown => {
    if (typeof value === 'string') {
      const own = String(firstMark + betweenMarks * marks++);
      note(own, path);
      return own;
    }
    if (typeof value === 'number') note(String(value), path);
    if (Array.isArray(value)) return value.map((each, index) => walk(each, `${path}.${index}`));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, `${path}.${key}`)]));
  };
  const marked = Object.entries(inputs).map(([name, value]) => [
    name,
    names.includes(name) ? walk(value, name) : value,
  ]);
  return { inputs: Object.fromEntries(marked), values };
}
