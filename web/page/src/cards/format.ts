// Numbers, money and times as people read them.

import { numberIn, text } from "./read.ts";

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const figure = (value: number): string => plain.format(value);
export const shortFigure = (value: number): string => (Math.abs(value) < 10_000 ? figure(rounded(value)) : short.format(value));

export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** Money where it is, in dollars where nobody says otherwise; else whatever was sent. */
export function money(amount: unknown, currency: unknown): string {
  const value = numberIn(amount);
  const code = text(currency ?? (value === null ? "" : "USD"));
  if (value === null) return [text(amount), code].filter(Boolean).join(" ");
  if (/^[A-Za-z]{3}$/.test(code)) {
    return new Intl.NumberFormat("en", { style: "currency", currency: code, trailingZeroDisplay: "stripIfInteger" }).format(value);
  }
  return [figure(value), code].filter(Boolean).join(" ");
}

export function fileSize(bytes: unknown): string {
  const size = numberIn(bytes);
  if (size === null || size < 0) return "";
  if (size < 1024) return `${figure(size)} B`;
  const [scaled, unit] = size < 1024 ** 2 ? [size / 1024, "KB"] : [size / 1024 ** 2, "MB"];
  return `${figure(Number(scaled.toFixed(scaled < 10 ? 1 : 0)))} ${unit}`;
}

/** "14:05", with the day where it was another one. */
export function clock(iso: string | undefined, now = new Date()): string {
  const at = new Date(iso ?? "");
  if (Number.isNaN(at.getTime())) return "";
  const time = at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${time}`;
}

/** "2026-11-20" → "Friday, 20 November 2026", or "20 Nov 2026". What is no date stays as it is. */
export function day(date: string, isShort = false): string {
  const [, year, month, dayOfMonth, time] = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d:\d\d))?/.exec(date) ?? [];
  if (!year) return date;
  const at = new Date(Number(year), Number(month) - 1, Number(dayOfMonth));
  const names = isShort ? { month: "short" } as const : { weekday: "long", month: "long" } as const;
  const said = at.toLocaleDateString("en-GB", { ...names, day: "numeric", year: "numeric" });
  return time ? `${said}, ${time}` : said;
}
