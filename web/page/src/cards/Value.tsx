// Any JSON as people read it: lists of rows, small tables, folded texts, files of this gateway, links that ask.

import { useState } from "react";
import { BlobImage, BlobLink } from "../blobs.tsx";
import { SafeLink } from "../markdown/SafeLink.tsx";
import { figure } from "./format.ts";
import { fields, isBlob, isObject, text, type Fields } from "./read.ts";
import { inWords } from "../words.ts";

const LONG = 320;
const DEEPEST = 5;
const MOST = 20;

interface ValueProps { value: unknown; name?: string; depth?: number; isImage?: boolean }

export function Value({ value, name = "", depth = 0, isImage = false }: ValueProps) {
  if (value === null || value === undefined) return <span className="quiet">none</span>;
  if (typeof value === "boolean") return <>{value ? "Yes" : "No"}</>;
  if (typeof value === "number") return <span className="number">{looksLikeId(name) ? String(value) : figure(value)}</span>;
  if (typeof value === "string") return <Words value={value} name={name} isImage={isImage} />;
  if (depth >= DEEPEST) return <Long value={text(value)} />;
  if (Array.isArray(value)) return <List values={value} name={name} depth={depth} />;
  return <Keyed value={value as Fields} depth={depth} />;
}

/** Key and value; what is long has a line of its own on a phone. */
export function Row({ name = "", value, ...more }: ValueProps) {
  const isLong = typeof value === "object" || text(value).length > 60;
  return (
    <div className={isLong ? "row row-long" : "row"}>
      <dt title={name} dir="auto">{inWords(name)}</dt>
      <dd dir="auto"><Value value={value} name={name} {...more} /></dd>
    </div>
  );
}

const looksLikeId = (name: string) => /id$|year|zip|code|phone|number$/i.test(name);
const namesImage = (name: string) => /image|photo|picture|thumbnail|logo|avatar/i.test(name);

function Words({ value, name, isImage }: { value: string; name: string; isImage: boolean }) {
  if (isBlob(value)) {
    if (isImage || namesImage(name)) return <BlobImage url={value} alt={name ? inWords(name) : "Image"} />;
    return <BlobLink url={value}>{value}</BlobLink>;
  }
  if (/^(?:https?:\/\/|mailto:)\S+$/i.test(value)) return <SafeLink href={value}>{value}</SafeLink>;
  return <Long value={value} />;
}

/** A text that shows its beginning until somebody wants the rest. */
export function Long({ value, limit = LONG }: { value: string; limit?: number }) {
  const [open, setOpen] = useState(false);
  if (value.length <= limit * 1.25) return <span className="words">{value}</span>;
  return (
    <span className="words">
      {open ? value : `${value.slice(0, limit).trimEnd()}…`}{" "}
      <More open={open} onToggle={() => setOpen(!open)} />
    </span>
  );
}

export function More({ open, onToggle, what = "more" }: { open: boolean; onToggle(): void; what?: string }) {
  return (
    <button type="button" className="act-inline" aria-expanded={open} onClick={onToggle}>
      {open ? "Show less" : `Show ${what}`}
    </button>
  );
}

function Keyed({ value, depth }: { value: Fields; depth: number }) {
  const [open, setOpen] = useState(false);
  const all = Object.entries(value);
  if (!all.length) return <span className="quiet">empty</span>;
  const isImage = /^image\//.test(text(value.mediaType ?? value.mimeType));
  return (
    <div className={depth ? "nested" : undefined}>
      <dl className="rows">
        {(open ? all : all.slice(0, MOST)).map(([name, each]) => (
          <Row key={name} name={name} value={each} depth={depth + 1} isImage={isImage} />
        ))}
      </dl>
      {all.length > MOST && <More open={open} onToggle={() => setOpen(!open)} what={`all ${all.length}`} />}
    </div>
  );
}

function List({ values, name, depth }: { values: unknown[]; name: string; depth: number }) {
  const [open, setOpen] = useState(false);
  if (!values.length) return <span className="quiet">none</span>;
  const shown = open ? values : values.slice(0, MOST);
  const more = values.length > MOST && <More open={open} onToggle={() => setOpen(!open)} what={`all ${values.length}`} />;
  const columns = columnsOf(values);
  if (columns) return <div><SmallTable columns={columns} rows={shown} depth={depth} />{more}</div>;
  if (values.every((each) => isScalar(each) && text(each).length < 40 && !isBlob(each))) {
    return <span className="words">{shown.map((each) => text(each)).join(", ")} {more}</span>;
  }
  return (
    <div>
      <ul className="values">
        {shown.map((each, index) => <li key={index} dir="auto"><Value value={each} name={name} depth={depth + 1} /></li>)}
      </ul>
      {more}
    </div>
  );
}

function SmallTable({ columns, rows, depth }: { columns: string[]; rows: unknown[]; depth: number }) {
  return (
    <div className="table-frame" role="region" aria-label="Table" tabIndex={0}>
      <table className="table">
        <thead><tr>{columns.map((name) => <th key={name} scope="col" title={name}>{inWords(name)}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map((name) => (
                <td key={name} dir="auto"><Cell row={fields(row)} name={name} depth={depth} /></td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ row, name, depth }: { row: Fields; name: string; depth: number }) {
  return Object.hasOwn(row, name) ? <Value value={row[name]} name={name} depth={depth + 1} /> : null;
}

/** The columns of a list of flat objects; null when it is something else. */
function columnsOf(values: unknown[]): string[] | null {
  const names = new Set<string>();
  for (const each of values) {
    if (!isObject(each) || !Object.values(each).every(isScalar)) return null;
    for (const name of Object.keys(each)) names.add(name);
    if (names.size > 6) return null;
  }
  return names.size && values.length > 1 ? [...names] : null;
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}
