import { useId, useState } from "react";
import { useToolResult, type ToolProps } from "@roomful/react";
import { Card, Ending, Missing, Problem, Rows, Settled } from "./Card.tsx";
import { day } from "./format.ts";
import { fields, others, text } from "./read.ts";

const DRAWN = ["question", "min", "max", "time"];

/** `{question, min?, max?, time?}` → `{date}` */
export function DatePicker({ args, status, result, part }: ToolProps) {
  const { canAnswer, answer, problem, answeredBy, answeredAt } = useToolResult();
  const [date, setDate] = useState("");
  const field = useId();
  const question = text(args.question);
  const withTime = args.time === true;
  const [min, max] = [bound(args.min, withTime), bound(args.max, withTime)];
  const isInside = (!min || date >= min) && (!max || date <= max);
  const chosen = text(fields(result).date);
  const isOpen = status === "waiting" || status === "streaming";

  const footer = (
    <>
      {status === "complete" && <Settled verb="Answered" by={answeredBy} at={answeredAt} />}
      {isOpen && (
        <div className="acts">
          <input id={field} className="input date" type={withTime ? "datetime-local" : "date"} value={date} min={min} max={max}
            aria-label={withTime ? "Date and time" : "Date"} disabled={!canAnswer} onChange={(event) => setDate(event.target.value)} />
          <button type="button" className="act act-main" disabled={!canAnswer || !date || !isInside}
            onClick={() => void answer({ date })}>Choose</button>
        </div>
      )}
      {date && !isInside && <Problem>{range(min, max)}</Problem>}
      <Problem>{problem}</Problem>
    </>
  );

  return (
    <Card part={part} label={question || "Date"} kind="Date" className="date-picker" footer={footer}>
      {!question && <Missing part={part} wide />}
      {chosen && <p className="amount">{day(chosen)}</p>}
      {isOpen && (min || max) && <p className="quiet">{range(min, max)}</p>}
      <Rows rows={others(args, DRAWN)} />
      <Ending part={part} />
    </Card>
  );
}

/** A bound as the field wants it; what is no date bounds nothing. */
function bound(value: unknown, withTime: boolean): string | undefined {
  const [, date, time = "00:00"] = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d))?/.exec(text(value)) ?? [];
  if (!date) return undefined;
  return withTime ? `${date}T${time}` : date;
}

function range(min: string | undefined, max: string | undefined): string {
  if (min && max) return `From ${day(min, true)} to ${day(max, true)}`;
  return min ? `From ${day(min, true)}` : `Until ${day(max ?? "", true)}`;
}
