/** Looks a field up in the text that INFO answers; undefined when Redis does not have it. */
export function infoFields(info: string): (name: string) => string | undefined {
  return (name) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
