// What happened inside a delegation: the sub-agent's words and calls, as they come.

import { useId, useState } from "react";
import type { Child, ChildCall, Json, PartStatus } from "@roomful/client";
import { Markdown } from "../markdown/Markdown.tsx";
import { Badge, Problem, stateOf } from "./Card.tsx";
import { figure } from "./format.ts";
import { AgentIcon, ChevronIcon } from "./icons.tsx";
import { isObject } from "./read.ts";
import { Value } from "./Value.tsx";
import { count, inWords } from "../words.ts";

const STATUS: Record<Child["status"], PartStatus> = {
  running: "running", completed: "complete", failed: "error", canceled: "canceled",
};

export function Trail({ child }: { child: Child }) {
  const [open, setOpen] = useState(false);
  const inside = useId();
  const calls = child.calls ?? [];
  return (
    <div className="trail">
      <button type="button" className="trail-head" aria-expanded={open} aria-controls={inside} onClick={() => setOpen(!open)}>
        <ChevronIcon />
        <AgentIcon />
        <span className="trail-name" dir="auto">{child.name}</span>
        {calls.length > 0 && <span className="quiet">{count(calls.length, "call")}</span>}
        <Badge state={stateOf(STATUS[child.status])} />
      </button>
      <div id={inside} className="trail-body" hidden={!open}>
        {open && <Inside child={child} calls={calls} />}
      </div>
    </div>
  );
}

function Inside({ child, calls }: { child: Child; calls: ChildCall[] }) {
  const running = child.status === "running";
  return (
    <>
      {calls.length > 0 && <ol className="trail-calls">{calls.map((call) => <Call key={call.toolCallId} call={call} />)}</ol>}
      {child.text && <Markdown text={child.text} isStreaming={running} />}
      {!child.text && !calls.length && <p className="quiet">{running ? "Thinking…" : "It said nothing."}</p>}
      {child.usage && child.usage.inputTokens + child.usage.outputTokens > 0 && (
        <p className="quiet trail-usage">
          {figure(child.usage.inputTokens)} tokens read, {figure(child.usage.outputTokens)} written
        </p>
      )}
    </>
  );
}

function Call({ call }: { call: ChildCall }) {
  return (
    <li className="trail-call">
      <div className="trail-call-head" title={call.toolName}>
        <span className="trail-call-name">{inWords(call.toolName)}</span>
        <Badge state={stateOf(call.status)} />
      </div>
      <Shown label="Arguments" value={call.args} />
      <Shown label="Result" value={call.result} />
      <Problem>{call.error}</Problem>
      {call.child && <Trail child={call.child} />}
    </li>
  );
}

function Shown({ label, value }: { label: string; value: Json | undefined }) {
  if (value === undefined || value === null || (isObject(value) && !Object.keys(value).length)) return null;
  return <div className="section"><span className="section-name">{label}</span><Value value={value} /></div>;
}
