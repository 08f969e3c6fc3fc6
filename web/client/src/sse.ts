// Frames of an event stream, from bytes that may be cut anywhere.

export interface Frame { name: string; data: string; id: string | null }

export class FrameReader {
  #rest = "";
  #decoder = new TextDecoder();

  /** The frames that these bytes complete. A comment yields nothing, but somebody spoke. */
  read(bytes: Uint8Array): Frame[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    const pieces = this.#rest.split("\n\n");
    this.#rest = pieces.pop() ?? "";
    return pieces.map(frameOf).filter((frame) => frame !== null);
  }
}

function frameOf(text: string): Frame | null {
  const frame: Frame = { name: "message", data: "", id: null };
  const data: string[] = [];
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const value = line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    const field = line.slice(0, at);
    if (field === "event") frame.name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") frame.id = value;
  }
  if (data.length === 0) return null;
  frame.data = data.join("\n");
  return frame;
}
