// Arguments as they grow: what a reader of half written JSON knows at every letter.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The value of each beginning of a JSON text, each once. */
export function prefixes(value: Json): Json[] {
  const whole = JSON.stringify(value);
  const found = new Map<string, Json>();
  for (let end = 1; end <= whole.length; end += 1) {
    const known = folded(whole.slice(0, end));
    if (known !== undefined) found.set(JSON.stringify(known), known);
  }
  return [...found.values()];
}

/** Closes what is open; a name without a value, and a value that is not one yet, are dropped. */
function folded(text: string): Json | undefined {
  for (let cut = text.length; cut > 0; cut -= 1) {
    try {
      return JSON.parse(closed(text.slice(0, cut))) as Json;
    } catch {
      // One letter less may be whole.
    }
  }
  return undefined;
}

function closed(text: string): string {
  const open: string[] = [];
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]!;
    if (inString && letter === "\\") at += 1;
    else if (letter === '"') inString = !inString;
    else if (!inString && (letter === "{" || letter === "[")) open.push(letter === "{" ? "}" : "]");
    else if (!inString && (letter === "}" || letter === "]")) open.pop();
  }
  return (inString ? `${text}"` : text.replace(/,\s*$/, "")) + open.reverse().join("");
}
