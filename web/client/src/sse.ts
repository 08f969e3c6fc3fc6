// Frames of an event stream, from bytes that may be cut anywhere.

export interface Frame { name: string; data: string; id: string | null }

const LINE_END = /\r\n|\n|\r/;

export class FrameReader {
  #decoder = new TextDecoder();
  #line: string[] = []; // what came of the line that has not ended
  #afterCr = false;
  #name = "";
  #data: string[] = [];
  #id: string | null = null;

  /** The frames that these bytes complete. A comment yields nothing, but somebody spoke. */
  read(bytes: Uint8Array): Frame[] {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return [];
    if (this.#afterCr && text.startsWith("\n")) text = text.slice(1);
    this.#afterCr = text.endsWith("\r");
    const lines = text.split(LINE_END);
    const rest = lines.pop() ?? "";
    const frames: Frame[] = [];
    for (const line of lines) {
      this.#line.push(line);
      const frame = this.#take(this.#line.length === 1 ? line : this.#line.join(""));
      this.#line = [];
      if (frame) frames.push(frame);
    }
    if (rest !== "") this.#line.push(rest);
    return frames;
  }

  #take(line: string): Frame | null {
    if (line === "") return this.#end();
    const at = line.indexOf(":");
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #end(): Frame | null {
    const frame = { name: this.#name || "message", data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#name = "";
    this.#data = [];
    this.#id = null;
    return isEmpty ? null : frame;
  }
}
