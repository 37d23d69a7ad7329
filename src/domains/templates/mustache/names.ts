import { templateLimits } from '../limits.ts';

/** Most names match this pattern; they are valid when they are short enough. */
const ordinaryName = /^[\w-]+$/;

/** Returns what is wrong with a variable's name; undefined when it is valid. */
export function nameFault(name: string): string | undefined {
  if (name.length <= templateLimits.nameCharactersMax && ordinaryName.test(name)) return undefined;
  if (name === '') return 'A tag must have a name';
  const shown = JSON.stringify(name.slice(0, 80));
  if (name.length > templateLimits.nameCharactersMax) {
    return `A name may have at most ${templateLimits.nameCharactersMax} characters; ${shown} has ${name.length}`;
  }
  if (name.includes('|')) return `Mustache does not support filters (${shown}). Use the format liquid for filters`;
  if (/[\s"'`(){}[\]#^/<>&!=$*%,;:@+?\\~]/.test(name)) {
    return `${shown} is not a name. A name has segments of letters, digits, \`_\` and \`-\`, separated by dots`;
  }
  const segments = name.split('.');
  if (segments.includes('')) return `${shown} has a dot without a name before it or after it`;
  if (segments.length > templateLimits.nameSegmentsMax) {
    return `A name may have at most ${templateLimits.nameSegmentsMax} segments; ${shown} has ${segments.length}`;
  }
  return undefined;
}
