import { Fragment, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { BlobImage, BlobLink } from "../blobs.tsx";
import { isBlob } from "../cards/read.ts";
import { SafeLink } from "./SafeLink.tsx";

const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", hellip: "…", mdash: "—", ndash: "–", rarr: "→", larr: "←", times: "×", euro: "€",
};
const DEEPEST = 24;

export function Inline({ tokens = [], depth = 0 }: { tokens?: Token[] | undefined; depth?: number }) {
  return tokens.map((token, index) => <Fragment key={index}>{drawn(token, depth)}</Fragment>);
}

function drawn(token: Token, depth: number): ReactNode {
  if (depth > DEEPEST) return token.raw;
  const inside = <Inline tokens={(token as Tokens.Generic).tokens} depth={depth + 1} />;
  switch (token.type) {
    case "strong": return <strong>{inside}</strong>;
    case "em": return <em>{inside}</em>;
    case "del": return <del>{inside}</del>;
    case "br": return <br />;
    case "codespan": return <code>{(token as Tokens.Codespan).text}</code>;
    case "link": return <Link token={token as Tokens.Link}>{inside}</Link>;
    case "image": return <Image token={token as Tokens.Image} />;
    case "text": case "escape": return (token as Tokens.Generic).tokens ? inside : plain(token as Tokens.Text);
    case "checkbox": return null;
    default: return token.raw; // html and whatever else: as it was written
  }
}

function Link({ token, children }: { token: Tokens.Link; children: ReactNode }) {
  if (isBlob(token.href)) return <BlobLink url={token.href}>{children}</BlobLink>;
  return <SafeLink href={token.href}>{children}</SafeLink>;
}

function Image({ token: { href, text } }: { token: Tokens.Image }) {
  const alt = decoded(text);
  if (isBlob(href)) return <BlobImage url={href} alt={alt} />;
  return <>{alt && `${alt} `}<SafeLink href={href}>{href}</SafeLink></>;
}

/** The words of a token that has no others inside. */
export function plain(token: Tokens.Text): string {
  return decoded(token.text);
}

/** The character references that people and models write; others stay as they are. */
function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,6}));/g, (all, decimal?: string, hex?: string, name?: string) => {
    if (name) return Object.hasOwn(NAMED, name) ? NAMED[name]! : all;
    const code = decimal ? Number(decimal) : parseInt(hex!, 16);
    return code > 0x1f && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : all;
  });
}
