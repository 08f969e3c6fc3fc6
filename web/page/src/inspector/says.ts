// How a run, its calls and its times are said.

import type { Cost, InspectedCall, Run, RunStatus, Visibility } from "@roomful/client";
import { inWords } from "../words.ts";

export type Tone = "good" | "busy" | "waits" | "wrong" | "quiet";

const RUN: Record<RunStatus, [string, Tone]> = {
  queued: ["Comes next", "quiet"],
  running: ["At work", "busy"],
  waiting_tool: ["Waits", "waits"],
  waiting_reply: ["Waits for a reply", "waits"],
  completed: ["Done", "good"],
  failed: ["Failed", "wrong"],
  canceled: ["Stopped", "quiet"],
};

const CALL: Record<InspectedCall["status"], [string, Tone]> = {
  ready: ["Begins", "busy"],
  running: ["Running", "busy"],
  waiting: ["Waits", "waits"],
  complete: ["Done", "good"],
  error: ["Failed", "wrong"],
  canceled: ["Canceled", "quiet"],
  unknown: ["Outcome unknown", "wrong"],
};

const WAITS = {
  answer: "Waits for an answer",
  approval: "Waits for approval",
  callback: "Waits for a callback",
  reply: "Waits for a reply",
  child_run: "Waits for the run it called",
};

const SHOWN: Record<Visibility, string> = {
  hidden: "hidden",
  status: "minimal: shows only that it works",
  result: "result only",
  full: "full",
};

const BOUNDS: { [name: string]: string } = {
  maxSteps: "Steps",
  callsPerRun: "Calls",
  depth: "Depth of called runs",
  runsPerRoot: "Runs from this trigger",
  tokensPerRoot: "Tokens from this trigger",
  runSeconds: "Seconds at a stretch",
};

export const runStatus = (status: RunStatus): [string, Tone] => RUN[status] ?? [inWords(status), "quiet"];
export const shownAs = (visibility: Visibility): string => SHOWN[visibility] ?? visibility;
export const boundName = (name: string): string => BOUNDS[name] ?? inWords(name);

export function callStatus({ status, waitsFor }: InspectedCall): [string, Tone] {
  const [said, tone] = CALL[status] ?? [inWords(status), "quiet"];
  return status === "waiting" && waitsFor ? [WAITS[waitsFor] ?? said, tone] : [said, tone];
}

/** Whether somebody else was to do something before the call could end. */
export const asksSomebody = ({ waitsFor }: InspectedCall): boolean =>
  waitsFor === "answer" || waitsFor === "approval" || waitsFor === "reply";

export const isSettled = ({ status }: InspectedCall): boolean =>
  status === "complete" || status === "error" || status === "canceled" || status === "unknown";

export const hasEnded = ({ status }: Run): boolean =>
  status === "completed" || status === "failed" || status === "canceled";

/** Whose doing it was, and where: "Ada wrote in Head office". */
export function triggerSaid({ trigger, startedBy }: Run, nameOf: (id: string) => string, spaceName: (id: string) => string): string {
  const who = trigger.entityId ? nameOf(trigger.entityId) : "Somebody";
  const where = trigger.spaceId ? ` in ${spaceName(trigger.spaceId)}` : "";
  switch (trigger.type) {
    case "message": return `${who} wrote${where}`;
    case "mention": return `${who} mentioned it${where}`;
    case "answer": return `${who} answered a card${where}`;
    case "plan": return `A plan${where}`;
    case "service": return `${who} sent something${where}`;
    case "call": return startedBy ? `Called by ${nameOf(startedBy)}` : "Called by another run";
    default: return `${inWords(trigger.type)}${where}`;
  }
}

export function duration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return twoUnits(whole, 60, "min", "s");
  if (whole < 86_400) return twoUnits(Math.round(whole / 60), 60, "h", "min");
  return twoUnits(Math.round(whole / 3600), 24, "d", "h");
}

function twoUnits(small: number, per: number, many: string, few: string): string {
  const rest = small % per;
  return `${Math.floor(small / per)} ${many}${rest ? ` ${rest} ${few}` : ""}`;
}

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const DOLLARS = new Intl.NumberFormat("en", {
  style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 2,
  maximumSignificantDigits: 3, roundingPriority: "morePrecision",
});

export const number = (value: number): string => NUMBER.format(value);
export const cost = ({ amount }: Cost): string => DOLLARS.format(amount);
