// The run across its spaces, from left to right.

import { useMemo } from "react";
import { lanesOf, type Bar, type Lane } from "./lanes.ts";
import { useLook } from "./look.ts";
import { callStatus } from "./says.ts";
import { scaleOf, type Scale } from "./scale.ts";

const entryId = (toolCallId: string) => `call-${toolCallId}`;
export const entryProps = (toolCallId: string) => ({ id: entryId(toolCallId), tabIndex: -1 });

export function Timeline() {
  const { inspection, spans } = useLook();
  const scale = useMemo(() => scaleOf(spans), [spans]);
  const lanes = useMemo(() => lanesOf(inspection, spans, scale), [inspection, spans, scale]);
  if (!lanes.length) return null;
  return (
    <section aria-label="Timeline">
      <h3>Timeline</h3>
      <div className="timeline">
        <Axis scale={scale} />
        {lanes.map((lane) => <OneLane key={lane.id} lane={lane} />)}
      </div>
      <p className="hint signs">
        <span className="sign model">model at work</span>
        <span className="sign">waits for somebody</span>
        {spans.isOrder && <span>No times were kept of this run: calls stand in their order.</span>}
        {!spans.isOrder && <Untimed />}
        {scale.isPressed && <span>Long stretches are drawn shorter.</span>}
      </p>
    </section>
  );
}

function Untimed() {
  const { runs } = useLook().inspection;
  const isThere = runs.some(({ calls }) => calls.some(({ startedAt }) => !startedAt));
  return isThere ? <span>Calls without times stand in their order.</span> : null;
}

function Axis({ scale }: { scale: Scale }) {
  const { spans } = useLook();
  return (
    <div className="lane axis" aria-hidden="true">
      <span className="lane-name" />
      <div className="track">
        {scale.marks.map(({ at, label }) => (
          <span key={at} className={`mark${at === 100 ? " last" : ""}`} style={{ left: `${at}%` }}>{label}</span>
        ))}
        {[...spans.steps].map(([key, { start, end }]) => (
          <span key={key} className="step-tick" style={{ left: `${scale.at(start)}%`, width: `${scale.at(end) - scale.at(start)}%` }} />
        ))}
      </div>
    </div>
  );
}

function OneLane({ lane: { id, name, bars, rows } }: { lane: Lane }) {
  return (
    <div className={`lane${id ? "" : " not-shown"}`} role="group" aria-label={name}>
      <span className="lane-name" dir="auto" title={name}>{name}</span>
      <div className="track" style={{ height: `${rows * 1.75 + 0.5}rem` }}>
        {bars.map((bar) => <OneBar key={bar.call.toolCallId} bar={bar} />)}
      </div>
    </div>
  );
}

function OneBar({ bar }: { bar: Bar }) {
  const { call, left, width, waitsFrom, label, side, name, row } = bar;
  const [, tone] = callStatus(call);
  const edge = side === "before" ? { right: `${100 - left - width}%` } : { left: `${left}%` };
  const wait = waitsFrom === null ? null : <span className="wait" style={{ left: `${waitsFrom}%` }} />;
  return (
    <button
      className={`bar tone-${tone} ${side}`} aria-label={name} title={name}
      style={{ ...edge, top: `${row * 1.75 + 0.25}rem` }} onClick={() => show(call.toolCallId)}
    >
      <span className="fill" style={{ width: `${width}cqw` }}>{wait}{side === "inside" && <b>{label}</b>}</span>
      {side !== "inside" && <b>{label}</b>}
    </button>
  );
}

function show(toolCallId: string): void {
  const entry = document.getElementById(entryId(toolCallId));
  if (!entry) return;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  entry.focus({ preventScroll: true });
  entry.scrollIntoView({ block: "start", behavior: isStill ? "auto" : "smooth" });
}
