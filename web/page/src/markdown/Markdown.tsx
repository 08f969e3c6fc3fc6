// Words as their author meant them to look. Elements are made of tokens: what others wrote never becomes markup.

import { memo, useEffect, useState } from "react";
import type { Token, Tokens } from "marked";
import { Blocks } from "./blocks.ts";
import { Code } from "./Code.tsx";
import { Inline, plain } from "./Inline.tsx";

const DEEPEST = 12;
const CATCH_UP = 150;

export function Markdown({ text, isStreaming = false }: { text: string; isStreaming?: boolean }) {
  const [blocks] = useState(() => new Blocks());
  const [stalledAt, setStalledAt] = useState(-1);
  const tokens = blocks.read(text, isStreaming, stalledAt === text.length);
  const { isBehind } = blocks;
  useEffect(() => {
    if (!isBehind) return;
    const timer = setTimeout(() => setStalledAt(text.length), CATCH_UP);
    return () => clearTimeout(timer);
  }, [isBehind, text]);
  return (
    <div className="markdown" data-streaming={isStreaming || undefined}>
      {tokens.map((token, index) => <Block key={index} token={token} depth={0} />)}
    </div>
  );
}

const Block = memo(function Block({ token, depth }: { token: Token; depth: number }) {
  if (depth > DEEPEST) return <p dir="auto">{token.raw}</p>;
  switch (token.type) {
    case "space": case "def": return null;
    case "hr": return <hr />;
    case "heading": return <Heading token={token as Tokens.Heading} />;
    case "paragraph": return <p dir="auto"><Inline tokens={token.tokens} /></p>;
    case "text": return token.tokens ? <Inline tokens={token.tokens} /> : <>{plain(token as Tokens.Text)}</>;
    case "code": return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} />;
    case "blockquote": return <blockquote dir="auto"><Inside tokens={token.tokens ?? []} depth={depth} /></blockquote>;
    case "list": return <List token={token as Tokens.List} depth={depth} />;
    case "table": return <Table token={token as Tokens.Table} />;
    case "html": return <p className="literal" dir="auto">{token.raw.trimEnd()}</p>;
    default: return <Inline tokens={[token]} />;
  }
});

function Inside({ tokens, depth }: { tokens: Token[]; depth: number }) {
  return tokens.map((token, index) => <Block key={index} token={token} depth={depth + 1} />);
}

const HEADINGS = ["h3", "h4", "h5", "h6"] as const;

function Heading({ token }: { token: Tokens.Heading }) {
  const Level = HEADINGS[Math.min(token.depth, 4) - 1] ?? "h6";
  return <Level dir="auto"><Inline tokens={token.tokens} /></Level>;
}

function List({ token, depth }: { token: Tokens.List; depth: number }) {
  const items = token.items.map((item, index) => <Item key={index} item={item} depth={depth} />);
  if (!token.ordered) return <ul dir="auto">{items}</ul>;
  return <ol dir="auto" start={Number(token.start) || (token.start === 0 ? 0 : 1)}>{items}</ol>;
}

function Item({ item, depth }: { item: Tokens.ListItem; depth: number }) {
  if (!item.task) return <li dir="auto"><Inside tokens={item.tokens} depth={depth} /></li>;
  const words = item.tokens.filter(({ type }) => type !== "checkbox");
  return (
    <li className="task" dir="auto">
      <input type="checkbox" checked={item.checked === true} readOnly disabled aria-label={item.checked ? "Done" : "To do"} />
      <div><Inside tokens={words} depth={depth} /></div>
    </li>
  );
}

function Table({ token }: { token: Tokens.Table }) {
  const cell = (each: Tokens.TableCell, index: number) => {
    const Tag = each.header ? "th" : "td";
    return <Tag key={index} dir="auto" style={each.align ? { textAlign: each.align } : undefined}><Inline tokens={each.tokens} /></Tag>;
  };
  return (
    <div className="table-frame" tabIndex={0} role="region" aria-label="Table">
      <table className="table">
        <thead><tr>{token.header.map(cell)}</tr></thead>
        <tbody>{token.rows.map((row, index) => <tr key={index}>{row.map(cell)}</tr>)}</tbody>
      </table>
    </div>
  );
}
