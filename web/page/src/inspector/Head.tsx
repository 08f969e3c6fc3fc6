// Whose run it is, how it stands, what it took, and how far it may still go.

import { createElement, useId, type ReactNode } from "react";
import type { Bound } from "@roomful/client";
import { clock, count, day, fullTime } from "../words.ts";
import { useLook } from "./look.ts";
import { boundName, cost, duration, hasEnded, number, runStatus, triggerSaid, type Tone } from "./says.ts";

export function Badge({ said: [words, tone] }: { said: [string, Tone] }) {
  return <span className={`stamp tone-${tone}`}>{words}</span>;
}

export function Heading({ level, children }: { level: number; children: ReactNode }) {
  return createElement(`h${Math.min(6, level)}`, null, children);
}

export function Head() {
  const { inspection: { run }, runOf, now, nameOf, spaceName } = useLook();
  const ended = hasEnded(run);
  const long = duration((run.endedAt ? Date.parse(run.endedAt) : now) - Date.parse(run.createdAt));
  return (
    <header className="inspector-head">
      <h2><span dir="auto">{runOf(run.id)?.agentName ?? nameOf(run.agentId)}</span> <Badge said={runStatus(run.status)} /></h2>
      <p>
        <span dir="auto">{triggerSaid(run, nameOf, spaceName)}</span>
        {" · "}<time dateTime={run.createdAt} title={fullTime(run.createdAt)}>{day(run.createdAt)} {clock(run.createdAt)}</time>
        {(run.endedAt || !ended) && ` · ${long}${ended ? "" : " so far"}`}
      </p>
    </header>
  );
}

export function Totals() {
  const { inspection, spaceName } = useLook();
  const { runs, usage, cost: price, spaces } = inspection;
  const sum = (of: (one: (typeof runs)[number]) => number) => runs.reduce((so, one) => so + of(one), 0);
  return (
    <section aria-label="Totals" className="totals">
      <dl>
        <Total name="Steps" value={number(sum(({ steps }) => steps.length))} />
        <Total name="Calls" value={number(sum(({ calls }) => calls.length))} />
        {runs.length > 1 && <Total name="Called runs" value={number(runs.length - 1)} />}
        <Total name="Tokens in" value={number(usage.inputTokens)} />
        <Total name="Tokens out" value={number(usage.outputTokens)} />
        {price && <Total name="Cost" value={cost(price)} />}
      </dl>
      {spaces.length > 0 && (
        <p className="touched">
          <span>{count(spaces.length, "space")} touched:</span>
          {spaces.map(({ spaceId }) => <span className="chip" dir="auto" key={spaceId}>{spaceName(spaceId)}</span>)}
        </p>
      )}
    </section>
  );
}

function Total({ name, value }: { name: string; value: string }) {
  return <div><dt>{name}</dt><dd>{value}</dd></div>;
}

export function Bounds() {
  const { bounds } = useLook().inspection;
  if (!bounds.length) return null;
  return (
    <section aria-label="Bounds">
      <h3>Bounds</h3>
      <ul className="bounds">{bounds.map((bound) => <Meter key={bound.name} bound={bound} />)}</ul>
    </section>
  );
}

function Meter({ bound: { name, used, limit } }: { bound: Bound }) {
  const id = useId();
  const part = limit ? Math.min(1, used / limit) : 0;
  const fill = { inlineSize: `${part * 100}%`, minInlineSize: used > 0 ? "2px" : 0 };
  return (
    <li>
      <span id={id} title={name}>{boundName(name)}</span>
      <span className="of">{number(used)} {limit === null ? <small>no limit</small> : `of ${number(limit)}`}</span>
      {limit !== null && (
        <span
          className={`meter${part >= 0.9 ? " full" : ""}`} role="meter" aria-labelledby={id}
          aria-valuemin={0} aria-valuemax={limit} aria-valuenow={Math.min(used, limit)} aria-valuetext={`${number(used)} of ${number(limit)}`}
        ><span style={fill} /></span>
      )}
    </li>
  );
}
