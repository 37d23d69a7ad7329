import type { PartArgument } from '../part-argument.ts';

interface Placed {
  /** Nothing comes before it on its line, so the indentation of a part goes here. */
  lineStart: boolean;
}
export interface TextNode extends Placed {
  kind: 'text';
  text: string;
}
export interface VariableNode extends Placed {
  kind: 'variable';
  /** Segments of the name; `.` has none. */
  path: readonly string[];
  /** The tag as written. */
  tag: string;
}
export interface SectionNode extends Placed {
  kind: 'section';
  path: readonly string[];
  inverted: boolean;
  children: Node[];
}
export interface PartNode extends Placed {
  kind: 'part';
  ref: string;
  arguments: readonly PartArgument[];
  /** White space before a tag alone on its line; undefined for one within a line. */
  indent: string | undefined;
  tag: string;
}
export type Node = TextNode | VariableNode | SectionNode | PartNode;

/** A name as segments, see {@link VariableNode.path}. */
export function splitName(name: string): string[] {
  return name === '.' ? [] : name.split('.');
}
