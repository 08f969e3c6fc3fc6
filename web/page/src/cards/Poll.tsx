import { useState } from "react";
import type { MemberAnswer } from "@roomful/client";
import { useToolResult, type ToolProps } from "@roomful/react";
import { Card, Ending, Missing, Problem, Rows, Settled } from "./Card.tsx";
import { fields, list, others, text } from "./read.ts";

interface Tally { option: string; votes: string[]; isOffered: boolean }

/** `{question, options}` → each member `{choice}`, who may choose again until somebody closes it. */
export function Poll({ args, status, result, part, me, nameOf }: ToolProps) {
  const { canAnswer, canClose, answer, close, isSending, problem, answeredBy, answeredAt } = useToolResult();
  const [wanted, setWanted] = useState<string | null>(null);
  const question = text(args.question);
  const answers = answersIn(part.answers ?? fields(result).answers);
  const tallies = tally(list(args.options).map(optionName).filter(Boolean), answers, nameOf);
  const mine = isSending ? wanted : choiceOf(answers.find((each) => each.entityId === me)?.result);
  const isOpen = canAnswer || isSending;

  function vote(option: string) {
    setWanted(option);
    void answer({ choice: option });
  }

  const footer = (
    <>
      <div className="poll-foot">
        <span className="quiet">{answers.length === 1 ? "1 vote" : `${answers.length} votes`}</span>
        {canClose && <button type="button" className="act act-quiet" onClick={() => void close()}>Close poll</button>}
      </div>
      {status === "complete" && <Settled verb="Closed" by={answeredBy} at={answeredAt} />}
      <Problem>{problem}</Problem>
    </>
  );

  return (
    <Card part={part} label={question || "Poll"} kind="Poll" className="poll" footer={footer}>
      <fieldset className="options" disabled={!isOpen}>
        <legend className="unseen">{question || "Options"}</legend>
        {tallies.map((each, index) => (
          <Option key={index} tally={each} share={each.votes.length / Math.max(1, answers.length)} group={part.id}
            isMine={mine === each.option} onVote={() => vote(each.option)} />
        ))}
        <Missing part={part} wide />
      </fieldset>
      <Rows rows={others(args, ["question", "options"])} />
      <Ending part={part} />
    </Card>
  );
}

interface OptionProps { tally: Tally; share: number; group: string; isMine: boolean; onVote(): void }

function Option({ tally: { option, votes, isOffered }, share, group, isMine, onVote }: OptionProps) {
  return (
    <label className="option" data-chosen={isMine}>
      <span className="option-bar" style={{ inlineSize: `${Math.round(share * 100)}%` }} />
      <input type="radio" name={`poll-${group}`} checked={isMine} disabled={!isOffered} onChange={onVote} />
      <span className="option-text">
        <span dir="auto">{option}</span>
        {votes.length > 0 && <span className="option-who" dir="auto">{votes.join(", ")}</span>}
      </span>
      <span className="option-count">{votes.length}<span className="unseen">{votes.length === 1 ? " vote" : " votes"}</span></span>
    </label>
  );
}

const choiceOf = (result: unknown) => text(fields(result).choice ?? result);
const optionName = (option: unknown) => text(fields(option).label ?? fields(option).value ?? option);

function answersIn(value: unknown): MemberAnswer[] {
  return list(value).map(fields).filter((each) => typeof each.entityId === "string") as unknown as MemberAnswer[];
}

/** In the order of the options; what somebody chose beside them comes last. */
function tally(options: string[], answers: MemberAnswer[], nameOf: (id: string) => string): Tally[] {
  const found = new Map<string, Tally>();
  for (const option of options) found.set(option, { option, votes: [], isOffered: true });
  for (const { entityId, result } of answers) {
    const option = choiceOf(result);
    const known = found.get(option) ?? { option, votes: [], isOffered: false };
    known.votes.push(nameOf(entityId));
    found.set(option, known);
  }
  return [...found.values()];
}
