const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether JSON text nests deeper than `depthMax`, without parsing it; texts too short for trouble are not looked at. */
export function isDeeperThan(depthMax: number, json: string): boolean {
  if (json.length < depthMax * 8) return false;
  let depth = 0;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) i = endOfString(json, i);
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > depthMax) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** The closing quote of the string that opens at `start`: the first one behind an even number of backslashes. */
function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let before = at;
    while (json.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return json.length;
}
