import { useMemo, useState } from "react";
import type { ToolProps } from "@roomful/react";
import { Card, Ending, Missing, Rows } from "./Card.tsx";
import { DownIcon, UpIcon } from "./icons.tsx";
import { fields, isObject, list, numberIn, others, text } from "./read.ts";
import { More, Value } from "./Value.tsx";
import { inWords } from "../words.ts";

const MOST = 200;
const WIDEST = 30;

interface Column { key: string; label: string }
interface Order { key: string; isDown: boolean }

/** `{title?, columns?, rows}`; display only. */
export function Table({ args, part, status, result }: ToolProps) {
  const [open, setOpen] = useState(false);
  const [order, setOrder] = useState<Order | null>(null);
  const given = args.rows === undefined && status === "complete" ? fields(result).rows : args.rows;
  const rows = list(given);
  const columns = columnsIn(args.columns, rows);
  const sorted = useMemo(() => inOrder(rows, columns, order), [given, args.columns, order]);
  const numbers = new Set(columns.filter(({ key }, at) => rows.slice(0, MOST).every((row) => isFigure(cell(row, key, at)))).map(({ key }) => key));
  const title = text(args.title);

  return (
    <Card part={part} label={title || "Table"} className="table-card">
      {columns.length > 0 && (
        <div className="table-frame" role="region" aria-label={title || "Table"} tabIndex={0}>
          <table className="table">
            <thead>
              <tr>{columns.map((column) => <Head key={column.key} column={column} isNumber={numbers.has(column.key)} order={order} onOrder={setOrder} />)}</tr>
            </thead>
            <tbody>
              {(open ? sorted : sorted.slice(0, MOST)).map((row, index) => (
                <tr key={index}>{columns.map(({ key }, at) => <Cell key={key} value={cell(row, key, at)} isNumber={numbers.has(key)} />)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > MOST && <p className="quiet">{rows.length} rows. <More open={open} onToggle={() => setOpen(!open)} what="all" /></p>}
      {!rows.length && status !== "streaming" && <p className="quiet">No rows.</p>}
      <Missing part={part} wide />
      <Rows rows={others(args, ["title", "columns", "rows"])} />
      <Ending part={part} />
    </Card>
  );
}

interface HeadProps { column: Column; isNumber: boolean; order: Order | null; onOrder(order: Order | null): void }

/** First upwards, then downwards, then as it came. */
function Head({ column: { key, label }, isNumber, order, onOrder }: HeadProps) {
  const here = order?.key === key ? order : null;
  const next = !here ? { key, isDown: false } : here.isDown ? null : { key, isDown: true };
  return (
    <th scope="col" className={isNumber ? "number" : undefined} aria-sort={here ? (here.isDown ? "descending" : "ascending") : undefined}>
      <button type="button" className="sort" onClick={() => onOrder(next)} dir="auto">
        {label}{here && (here.isDown ? <DownIcon /> : <UpIcon />)}
      </button>
    </th>
  );
}

function Cell({ value, isNumber }: { value: unknown; isNumber: boolean }) {
  if (value === undefined || value === null) return <td />;
  return <td dir="auto" className={isNumber ? "number" : undefined}><Value value={value} depth={2} /></td>;
}

const isFigure = (value: unknown) => typeof value === "number" || value === undefined || value === null;

function columnsIn(given: unknown, rows: unknown[]): Column[] {
  const named = list(given).map((each) => {
    const key = text(isObject(each) ? (each.key ?? each.name ?? each.label) : each);
    return { key, label: text(isObject(each) ? (each.label ?? key) : each) };
  });
  const known = named.length ? named.filter(({ key }) => key) : guessed(rows);
  const seen = new Set<string>();
  return known.filter(({ key }) => !seen.has(key) && seen.add(key)).slice(0, WIDEST);
}

function guessed(rows: unknown[]): Column[] {
  const keys = new Set<string>();
  let widest = 0;
  for (const row of rows.slice(0, MOST)) {
    if (isObject(row)) for (const key of Object.keys(row)) keys.add(key);
    else widest = Math.max(widest, list(row).length);
  }
  if (keys.size) return [...keys].map((key) => ({ key, label: inWords(key) }));
  return Array.from({ length: Math.min(widest, WIDEST) }, (_, at) => ({ key: `Column ${at + 1}`, label: `Column ${at + 1}` }));
}

function cell(row: unknown, key: string, at: number): unknown {
  if (isObject(row)) return Object.hasOwn(row, key) ? row[key] : undefined;
  return list(row)[at];
}

function inOrder(rows: unknown[], columns: Column[], order: Order | null): unknown[] {
  const at = columns.findIndex(({ key }) => key === order?.key);
  if (!order || at < 0) return rows;
  const way = order.isDown ? -1 : 1;
  return rows.toSorted((a, b) => way * compared(cell(a, order.key, at), cell(b, order.key, at)));
}

const words = new Intl.Collator("en", { numeric: true });

function compared(a: unknown, b: unknown): number {
  const [left, right] = [numberIn(a), numberIn(b)];
  if (left !== null && right !== null) return left - right;
  return words.compare(text(a), text(b));
}
