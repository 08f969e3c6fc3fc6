// How things are said on the page.

import type { Json } from "@roomful/client";

const LONGEST_NAME = 200;

/** "fetchWeatherData" → "Fetch weather data". */
export function inWords(name: string): string {
  if (name.length > LONGEST_NAME) return `${name.slice(0, LONGEST_NAME)}…`;
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .split(/[\s_.\-/:]+/)
    .filter(Boolean)
    .map((word) => (/^[A-Z0-9]{2,}$/.test(word) ? word : word.toLowerCase()));
  const said = words.join(" ");
  return said ? said[0]!.toUpperCase() + said.slice(1) : name;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

const formatted = (format: Intl.DateTimeFormat, iso: string) => {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? "" : format.format(date);
};

export const clock = (iso: string) => formatted(CLOCK, iso);
export const fullTime = (iso: string) => formatted(FULL, iso);

export function day(iso: string): string {
  const said = formatted(DAY, iso);
  if (said === formatted(DAY, new Date().toISOString())) return "Today";
  return said === formatted(DAY, new Date(Date.now() - 86_400_000).toISOString()) ? "Yesterday" : said;
}

export function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}

export function listed(names: string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** "not found" → "Not found." A name at the beginning stays as it is spelled, and so does what has several lines. */
export function asSentence(problem: string): string {
  const said = problem.trim();
  if (!said || said.includes("\n")) return said;
  const begun = /^\p{Ll}+(?=[\s,.;:]|$)/u.test(said) ? said[0]!.toUpperCase() + said.slice(1) : said;
  return /[.!?…]["'”’)\]]*$/u.test(begun) ? begun : `${begun}.`;
}

const LONGEST_TITLE = 80;

/** What a card is called where it is not drawn: as it calls itself, else by its tool. */
export function cardTitle(toolName: string, args: Json | undefined): string {
  return titleIn(args) ?? inWords(toolName);
}

function titleIn(args: Json | undefined): string | undefined {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return undefined;
  const said = args.title ?? args.question;
  return typeof said === "string" && said.trim() ? said.slice(0, LONGEST_TITLE) : undefined;
}
