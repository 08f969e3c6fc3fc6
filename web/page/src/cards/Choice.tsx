import { useState } from "react";
import type { Json } from "@roomful/client";
import { useToolResult, type ToolProps } from "@roomful/react";
import { Card, Ending, Missing, Problem, Rows, Settled } from "./Card.tsx";
import { fields, isObject, list, others, text } from "./read.ts";

interface Offer { value: Json; label: string; about: string }

/** `{question, options, multiple?}` → `{choice}` or `{choices}` */
export function Choice({ args, status, result, part }: ToolProps) {
  const { canAnswer, answer, isSending, problem, answeredBy, answeredAt } = useToolResult();
  const [picked, setPicked] = useState<readonly number[]>([]);
  const question = text(args.question);
  const offers = list(args.options).map(offer).filter(({ label }) => label);
  const multiple = args.multiple === true;
  const outcome = fields(result);
  const taken = new Set(list(outcome.choices ?? outcome.choice).map(text));
  const isOpen = status === "waiting" || status === "streaming";
  const chosen = offers.filter((_, index) => picked.includes(index)).map(({ value }) => value);

  function pick(index: number) {
    if (!multiple) setPicked([index]);
    else setPicked(picked.includes(index) ? picked.filter((each) => each !== index) : [...picked, index]);
  }

  const footer = (
    <>
      {status === "complete" && <Settled verb="Answered" by={answeredBy} at={answeredAt} />}
      {isOpen && (
        <div className="acts">
          <button type="button" className="act act-main" disabled={!canAnswer || !chosen.length}
            onClick={() => void answer(multiple ? { choices: chosen } : { choice: chosen[0]! })}>Choose</button>
          {multiple && <span className="quiet">{chosen.length} chosen</span>}
        </div>
      )}
      <Problem>{problem}</Problem>
    </>
  );

  return (
    <Card part={part} label={question || "Choice"} kind={multiple ? "Choose any" : "Choose one"} className="choice" footer={footer}>
      <fieldset className="options" disabled={!canAnswer && !isSending}>
        <legend className="unseen">{question || "Options"}</legend>
        {offers.map(({ value, label, about }, index) => {
          const isChosen = isOpen ? picked.includes(index) : taken.has(text(value));
          return (
            <label className="option" key={index} data-chosen={isChosen}>
              <input type={multiple ? "checkbox" : "radio"} name={`choice-${part.id}`} checked={isChosen} onChange={() => pick(index)} />
              <span className="option-text">
                <span dir="auto">{label}</span>
                {about && <span className="option-who" dir="auto">{about}</span>}
              </span>
            </label>
          );
        })}
        <Missing part={part} wide />
      </fieldset>
      <Rows rows={others(args, ["question", "options", "multiple"])} />
      <Ending part={part} />
    </Card>
  );
}

function offer(option: unknown): Offer {
  if (!isObject(option)) return { value: option as Json, label: text(option), about: "" };
  const value = (option.value ?? option.id ?? option.label ?? option) as Json;
  return { value, label: text(option.label ?? option.name ?? value), about: text(option.description) };
}
