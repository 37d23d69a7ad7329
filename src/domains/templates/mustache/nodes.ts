import type { PartArgument } from '../part-argument.ts';

interface Placed {
  /** The node is the first on its line, so the indentation of a part is inserted before it. */
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
/** An argument of a part tag, with the segments of its name as in {@link VariableNode.path}. */
export type ArgumentNode = { name: string; path: readonly string[] } | Extract<PartArgument, { value: unknown }>;
export interface PartNode extends Placed {
  kind: 'part';
  ref: string;
  arguments: readonly ArgumentNode[];
  /** White space before a tag that is alone on its line; undefined for a tag within a line. */
  indent: string | undefined;
  tag: string;
}
export type Node = TextNode | VariableNode | SectionNode | PartNode;

/** Splits a name into segments; see {@link VariableNode.path}. */
export function splitName(name: string): string[] {
  return name === '.' ? [] : name.split('.');
}
