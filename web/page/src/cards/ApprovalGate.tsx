// A call that is executed only when somebody agrees: whose it is, where it comes from, and its exact arguments.

import { useState } from "react";
import type { Json } from "@roomful/client";
import { useToolResult, type ToolProps, type ToolResult } from "@roomful/react";
import { APPROVED, Card, Ending, Problem, REJECTED, Settled } from "./Card.tsx";
import { Decide } from "./Decide.tsx";
import { Result } from "./GenericCard.tsx";
import { ShieldIcon } from "./icons.tsx";
import { Questions } from "./Questions.tsx";
import { exactJson, isObject } from "./read.ts";
import { inWords } from "../words.ts";

type Memory = "" | "arguments" | "tool";

export function ApprovalGate({ args, status, result, part, nameOf }: ToolProps) {
  const answering = useToolResult();
  const { answeredBy, answeredAt, problem } = answering;
  const { approval } = part;
  const decided = approval?.approved;
  const label = inWords(part.toolName);
  const state = decided === false ? REJECTED : decided === true && status === "ready" ? APPROVED : undefined;
  const isOpen = decided === undefined && (status === "waiting" || status === "streaming");
  return (
    <Card part={part} label={`Approve ${label}`} title={label} className="gate" {...(state && { state })}
      kind={<><ShieldIcon />{isOpen ? "Approval needed" : "Approval"}</>}
      footer={(
        <>
          {decided !== undefined && (
            <Settled verb={decided ? "Approved" : "Rejected"} by={answeredBy} at={answeredAt} reason={approval?.reason} tone={decided ? "good" : "wrong"} />
          )}
          {isOpen && (approval?.toSpaceIds ? <Letting answering={answering} /> : <Deciding shown={part.args} answering={answering} />)}
          {decided === true && status === "waiting" && part.question !== undefined && <Questions question={part.question} answering={answering} />}
          <Problem>{problem}</Problem>
        </>
      )}>
      <p className="about" dir="auto"><Origin part={part} nameOf={nameOf} /></p>
      {part.args === undefined ? <p className="quiet">Its arguments are not shown here.</p> : <Exact value={args} />}
      {status === "complete" && <Result result={result} />}
      {decided !== false && <Ending part={part} />}
    </Card>
  );
}

/** A name cannot turn the words around it: it is set apart. */
function Origin({ part: { approval, toolName }, nameOf }: Pick<ToolProps, "part" | "nameOf">) {
  const { agentId, triggerEntityId, triggerSpaceId, fromSpaceIds, toSpaceIds } = approval ?? {};
  return (
    <>
      <bdi>{agentId ? nameOf(agentId) : "An agent"}</bdi>{` wants to call ${toolName}`}
      {triggerEntityId && <>, asked by <bdi>{nameOf(triggerEntityId)}</bdi></>}
      {triggerSpaceId && ` in ${triggerSpaceId}`}.
      {toSpaceIds && ` It would be shown in ${toSpaceIds.join(", ")}, where not everybody may read ${fromSpaceIds?.join(", ")}.`}
    </>
  );
}

function Exact({ value }: { value: unknown }) {
  return <pre className="exact" dir="ltr" tabIndex={0} aria-label="Arguments">{exactJson(value)}</pre>;
}

/** Whether something comes into another space: as it is, once. */
function Letting({ answering: { canAnswer, answer } }: { answering: ToolResult }) {
  return (
    <Decide canAnswer={canAnswer} onApprove={() => void answer({ approved: true })}
      onReject={(reason) => void answer({ approved: false, reason })} />
  );
}

function Deciding({ shown, answering }: { shown: Json | undefined; answering: ToolResult }) {
  const { canAnswer, answer } = answering;
  const [memory, setMemory] = useState<Memory>("");
  const [draft, setDraft] = useState<string | null>(null);
  const edited = draft === null ? undefined : objectIn(draft);
  const isWrong = draft !== null && edited === undefined;

  function approve() {
    void answer({ approved: true, ...(edited && { args: edited }), ...(memory && { remember: memory }) });
  }

  return (
    <>
      {draft !== null && (
        <label className="field">
          <span className="field-name">Arguments as JSON</span>
          <textarea className="input code" rows={Math.min(14, draft.split("\n").length + 1)} dir="ltr" spellCheck={false} value={draft}
            aria-invalid={isWrong} disabled={!canAnswer} onChange={(event) => setDraft(event.target.value)} />
        </label>
      )}
      {isWrong && <Problem>This is not a JSON object yet.</Problem>}
      <label className="field remember">
        <span className="field-name">Ask again</span>
        <select className="input" value={memory} disabled={!canAnswer} onChange={(event) => setMemory(event.target.value as Memory)}>
          <option value="">Every time</option>
          <option value="arguments">Not for these exact arguments</option>
          <option value="tool">Never for this tool here</option>
        </select>
      </label>
      <Decide canAnswer={canAnswer} canApprove={!isWrong} onApprove={approve}
        onReject={(reason) => void answer({ approved: false, reason })}>
        {shown !== undefined && (
          <button type="button" className="act act-quiet" disabled={!canAnswer} aria-expanded={draft !== null}
            onClick={() => setDraft(draft === null ? exactJson(shown) : null)}>
            {draft === null ? "Edit arguments" : "Keep arguments"}
          </button>
        )}
      </Decide>
    </>
  );
}

function objectIn(draft: string): Record<string, Json> | undefined {
  try {
    const read: unknown = JSON.parse(draft);
    return isObject(read) ? (read as Record<string, Json>) : undefined;
  } catch {
    return undefined;
  }
}
