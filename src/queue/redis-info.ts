/**
 * Returns a function that looks up a field in the text of INFO; undefined when the field is
 * missing.
 */
export function infoFields(info: string): (name: string) => string | undefined {
  return (name) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
