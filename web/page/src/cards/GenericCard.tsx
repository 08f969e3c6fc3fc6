// The card of every tool that has none of its own.

import { useState } from "react";
import type { Json } from "@roomful/client";
import { useToolResult, type ToolProps } from "@roomful/react";
import { Badge, Card, Ending, Missing, Problem, Rows, Settled, stateOf } from "./Card.tsx";
import { Questions } from "./Questions.tsx";
import { exactJson, isObject, valueIn } from "./read.ts";
import { Value } from "./Value.tsx";
import { inWords } from "../words.ts";

export function GenericCard({ args, status, result, part }: ToolProps) {
  const label = inWords(part.toolName);
  const asks = part.asks === "answer" || status === "waiting";
  if (isQuiet(part) && !asks) return <Line label={label} part={part} />;
  return (
    <Card part={part} label={label} footer={<Answer part={part} />}>
      <Rows rows={Object.entries(args)} />
      {!isObject(part.args) && <Unusual value={part.args} />}
      <Missing part={part} wide />
      {status === "complete" && !part.child && !isEcho(part) && <Result result={result} />}
      <Ending part={part} />
    </Card>
  );
}

/** The result says nothing that the arguments did not. */
function isEcho({ args, result }: ToolProps["part"]): boolean {
  return isObject(args) && exactJson(args) === exactJson(result);
}

/** Its visibility hides what it does. */
function isQuiet(part: ToolProps["part"]): boolean {
  return part.args === undefined && part.result === undefined && part.child === undefined && part.error === undefined;
}

/** "Search inventory · done" */
function Line({ label, part }: { label: string; part: ToolProps["part"] }) {
  return (
    <p className="call-line" role="group" aria-label={label} data-status={part.status} title={part.toolName}>
      <span className="call-line-name">{label}</span>
      <Badge state={{ ...stateOf(part.status), words: QUIET[part.status] ?? "" }} />
    </p>
  );
}

const QUIET: Partial<Record<string, string>> = {
  streaming: "calling…", ready: "calling…", running: "calling…", waiting: "waiting…", complete: "done",
  error: "failed", canceled: "canceled", unknown: "outcome unknown",
};

function Unusual({ value }: { value: Json | undefined }) {
  return value === undefined || value === null ? null : <Value value={value} />;
}

export function Result({ result }: { result: Json | null | undefined }) {
  if (result === undefined || result === null) return null;
  return <div className="section"><span className="section-name">Result</span><Value value={result} /></div>;
}

function Answer({ part }: { part: ToolProps["part"] }) {
  const answering = useToolResult();
  const { canAnswer, answer, problem, answeredBy, answeredAt } = answering;
  const [words, setWords] = useState("");
  const isOpen = part.status === "waiting" && part.asks !== "approval";
  const settled = part.status !== "waiting" && answeredBy && <Settled verb="Answered" by={answeredBy} at={answeredAt} />;
  if (!isOpen) return <>{settled}<Problem>{problem}</Problem></>;
  if (part.question !== undefined) return <><Questions question={part.question} answering={answering} /><Problem>{problem}</Problem></>;
  return (
    <>
      <form className="acts" onSubmit={(event) => { event.preventDefault(); if (words.trim()) void answer(valueIn(words.trim())); }}>
        <button type="button" className="act act-main" disabled={!canAnswer} onClick={() => void answer({ approved: true })}>Yes</button>
        <button type="button" className="act" disabled={!canAnswer} onClick={() => void answer({ approved: false })}>No</button>
        <input className="input grows" dir="auto" aria-label="Answer in words" placeholder="or answer in words" value={words}
          disabled={!canAnswer} onChange={(event) => setWords(event.target.value)} />
        {words.trim() && <button type="submit" className="act act-main" disabled={!canAnswer}>Answer</button>}
      </form>
      <Problem>{problem}</Problem>
    </>
  );
}
