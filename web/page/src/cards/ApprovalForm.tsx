import { useToolResult, type ToolProps } from "@roomful/react";
import { APPROVED, Card, Ending, Missing, Problem, REJECTED, Rows, Settled } from "./Card.tsx";
import { Decide } from "./Decide.tsx";
import { money } from "./format.ts";
import { fields, others, text } from "./read.ts";
import { Long } from "./Value.tsx";

const DRAWN = ["title", "amount", "currency", "description"];

/** `{title?, amount?, currency?, description?, vendor?, …}` → `{approved, reason?}` */
export function ApprovalForm({ args, status, result, part }: ToolProps) {
  const { canAnswer, answer, isSending, problem, answeredBy, answeredAt } = useToolResult();
  const outcome = fields(result);
  const isDecided = status === "complete" && typeof outcome.approved === "boolean";
  const isApproved = outcome.approved === true;
  const amount = money(args.amount, args.currency);

  const footer = isDecided
    ? <Settled verb={isApproved ? "Approved" : "Rejected"} by={answeredBy} at={answeredAt} reason={text(outcome.reason)}
        tone={isApproved ? "good" : "wrong"} />
    : (status === "streaming" || status === "waiting") && (
      <Decide canAnswer={canAnswer} onApprove={() => void answer({ approved: true })}
        onReject={(reason) => void answer({ approved: false, ...(reason && { reason }) })} />
    );

  return (
    <Card part={part} label="Approval form" kind="Approval" className="approval" title={text(args.title) || "Approval"}
      {...(isDecided && { state: isApproved ? APPROVED : REJECTED })}
      footer={<>{footer}<Problem>{problem}</Problem>{isSending && <p className="quiet">Sending…</p>}</>}>
      {amount ? <p className="amount">{amount}</p> : <Missing part={part} />}
      {args.description ? <p className="about" dir="auto"><Long value={text(args.description)} /></p> : <Missing part={part} wide />}
      <Rows rows={others(args, DRAWN)} />
      <Ending part={part} />
    </Card>
  );
}
