// Markdown as a list of blocks that grows with its text. What is finished is never read again.

import { Lexer, type Token, type Tokens } from "marked";

type Links = Record<string, Pick<Tokens.Link, "href" | "title">>;

// A line of markers alone may become a list, a heading, a rule or the end of a fence: it is shown when that is known.
const UNDECIDED = /^[ \t]*(?:[-=*+#>|`~:_ \t]+|\d{1,3}[.)]?[ \t]*)$/;
// So many containers in each other are nobody's text, and would cost more to read than they are worth.
const TOO_DEEP = /^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])){12}/m;
// The end is read again when it has grown by this part of itself, so that a long block does not cost its square.
const PART = 128;

export class Blocks {
  #source = "";
  #wasStreaming = false;
  #finished: Token[] = [];
  #finishedLength = 0;
  #readLength = 0;
  #links: Links = {};
  #all: readonly Token[] = [];

  /** The end of the text is still to be read: with `now` it is, whatever it costs. */
  isBehind = false;

  /** The blocks of a text. Cheap when the text before was its beginning. */
  read(given: string, isStreaming: boolean, now = false): readonly Token[] {
    const source = given.includes("\r") ? given.replace(/\r\n?/g, "\n") : given;
    if (source === this.#source && isStreaming === this.#wasStreaming && !(this.isBehind && now)) return this.#all;
    // Slices are compared at once; startsWith goes letter by letter.
    const goesOn = source.slice(0, this.#source.length) === this.#source;
    // A definition makes links of words before it: once the text is complete it is read as a whole.
    if (!goesOn || (!isStreaming && source.includes("]:"))) this.#forget();
    [this.#source, this.#wasStreaming] = [source, isStreaming];
    const text = isStreaming ? decided(source) : source;
    const growth = text.length - this.#readLength;
    this.isBehind = isStreaming && !now && growth > 0 && growth < (this.#readLength - this.#finishedLength) / PART;
    if (!this.isBehind) this.#readEnd(text, isStreaming);
    return this.#all;
  }

  #forget(): void {
    this.#finished = [];
    this.#finishedLength = this.#readLength = 0;
    this.#links = {};
    this.#all = [];
  }

  #readEnd(text: string, isStreaming: boolean): void {
    const known = this.#all.slice(this.#finished.length);
    const open = lexed(text.slice(this.#finishedLength), this.#links);
    if (isStreaming) calm(open.at(-1));
    // The same words are the same block: it is not drawn again.
    const kept = open.map((token, at) => (at < open.length - 1 && known[at]?.raw === token.raw && at < known.length - 1 ? known[at] : token));
    this.#readLength = text.length;
    this.#all = [...this.#finished, ...kept];
    this.#finish(kept);
  }

  /** What comes next can change the last block, and join it to the one before, but reaches no further back. */
  #finish(open: Token[]): void {
    const blocks = open.flatMap((token, at) => (token.type === "space" ? [] : [at]));
    for (const token of open.slice(0, blocks.at(-2) ?? 0)) {
      if (!this.#source.startsWith(token.raw, this.#finishedLength)) return;
      this.#finished.push(token);
      this.#finishedLength += token.raw.length;
      if (token.type === "def") this.#links[token.tag] ??= token as Tokens.Def;
    }
  }
}

function decided(source: string): string {
  const lastLine = source.lastIndexOf("\n") + 1;
  return UNDECIDED.test(source.slice(lastLine, lastLine + 200)) && source.length - lastLine < 200 ? source.slice(0, lastLine) : source;
}

function lexed(text: string, links: Links): Token[] {
  const asItIs: Token = { type: "paragraph", raw: text, text, tokens: [words(text)] };
  if (TOO_DEEP.test(text)) return [asItIs];
  try {
    const lexer = new BoundedLexer({ gfm: true, breaks: true });
    Object.assign(lexer.tokens.links, links);
    return lexer.lex(text);
  } catch {
    return [asItIs]; // What cannot be read is shown as it was written.
  }
}

/** The time to read a stretch of words can grow with its square. What is beyond the bound is shown as it was written. */
class BoundedLexer extends Lexer {
  #left = 2 ** 26;

  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    this.#left -= text.length ** 2;
    if (this.#left > 0) return super.inlineTokens(text, tokens);
    tokens.push(words(text));
    return tokens;
  }
}

/** What the end of a text will most likely be. An address that may still grow is no link yet. */
function calm(token: Token | undefined): void {
  if (!token) return;
  const inside = childrenOf(token);
  const [before, last] = [inside.at(-2), inside.at(-1)];
  if (last?.type === "em" && before?.type === "text" && before.raw.endsWith("*")) {
    inside.splice(-2, 2, words(before.raw.slice(0, -1)), { ...last, type: "strong" }); // one star more is to come
  } else if (last?.type === "link" && last.raw === last.text) inside.splice(-1, 1, words(last.raw));
  else if (last?.type === "text" && !childrenOf(last).length) inside.splice(-1, 1, ...begun(last as Tokens.Text));
  else calm(last);
}

/** Strong words and code are drawn as such before they end. */
function begun(token: Tokens.Text): Token[] {
  const [, before, mark, rest] = /^([^]*(?:^|[\s("']))(\*\*|`)([^\s*`][^*`]*)$/.exec(token.text) ?? [];
  if (before === undefined || !mark || !rest) return [token];
  const raw = mark + rest;
  return [words(before), mark === "`" ? { type: "codespan", raw, text: rest } : { type: "strong", raw, text: rest, tokens: [words(rest)] }];
}

const words = (text: string): Tokens.Text => ({ type: "text", raw: text, text, escaped: false });

function childrenOf(token: Token): Token[] {
  if (token.type === "list") return (token as Tokens.List).items;
  if (token.type === "table") return ((token as Tokens.Table).rows.at(-1)?.at(-1)?.tokens) ?? [];
  return (token as Tokens.Generic).tokens ?? [];
}
