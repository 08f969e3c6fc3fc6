// Who is at work here, at what, and how to stop them.

import { useState } from "react";
import type { Message, Part, RunState } from "@roomful/client";
import { useLive } from "@roomful/react";
import { Icon } from "../Icon.tsx";
import { asSentence, cardTitle } from "../words.ts";
import { useNow, useScene } from "./scene.ts";

export function Runs() {
  const space = useNow();
  return (
    <div className="runs" role="status" aria-label="At work">
      {space.runs.map((run) => <OneRun key={run.runId} run={run} />)}
    </div>
  );
}

function OneRun({ run }: { run: RunState }) {
  const { client } = useLive();
  const space = useNow();
  const { myAgents, onInspect } = useScene();
  const [problem, setProblem] = useState("");
  const name = space.nameOf(run.entityId);
  const stop = () => void client.cancel(run.runId).catch((error: Error) => setProblem(error.message));
  return (
    <span className="run">
      {run.status === "running" && <span className="dot" aria-hidden="true" />}
      <span><b dir="auto">{name}</b> {doing(run, space.messages, space.space.id)}</span>
      {myAgents.has(run.entityId) && <button className="icon-button" aria-label={`Inspect run of ${name}`} title="Inspect run" onClick={() => onInspect(run.runId)}><Icon name="inspect" /></button>}
      {space.space.role !== "reader" && <button className="stop" aria-label={`Stop ${name}`} onClick={stop}><Icon name="stop" />Stop</button>}
      {problem && <span role="alert" className="problem">{asSentence(problem)}</span>}
    </span>
  );
}

function doing(run: RunState, messages: Message[], here: string): string {
  const open = messages.findLast(({ runId, status }) => runId === run.runId && status === "open");
  switch (run.status) {
    case "queued": return open ? busy(open.parts.at(-1)) : "comes next";
    case "waiting_reply": return "waits for a reply";
    case "waiting_tool": return waiting(run, here);
    default: return busy(open?.parts.at(-1));
  }
}

function waiting({ pendingToolCalls = [], asksPeople }: RunState, here: string): string {
  const asks = pendingToolCalls.find((call) => call.asksPeople && call.spaceIds.includes(here));
  if (asks) return `waits for an answer: ${cardTitle(asks.toolName, asks.args)}`;
  return asksPeople === false ? "waits for others" : "waits for an answer elsewhere";
}

function busy(part: Part | undefined): string {
  if (part?.type === "reasoning" && part.status === "streaming") return "is thinking…";
  if (part?.type === "text" && part.status === "streaming") return "is writing…";
  if (part?.type !== "tool_call") return "is working…";
  if (part.status === "streaming") return `is preparing ${part.toolName}…`;
  if (part.status === "ready" || part.status === "running") return `is calling ${part.toolName}…`;
  return "is working…";
}
