// A tool call, drawn by a component of your own. It is there while the model still writes its arguments,
// and whoever answers first has answered for everybody.

import { useToolResult, type ToolProps } from "@roomful/react";

interface Seat { row: string; price: number }

export function SeatCard({ args, status }: ToolProps<Seat>) {
  const { answer, canAnswer, answeredBy, problem } = useToolResult<{ taken: boolean }>();
  return (
    <section aria-label="Seat" data-status={status}>
      <p>Row {args.row ?? "…"}, {args.price ?? "…"} dollars</p>
      <button disabled={!canAnswer} onClick={() => answer({ taken: true })}>Take it</button>
      {answeredBy && <p>Taken by {answeredBy}</p>}
      {problem && <p role="alert">{problem}</p>}
    </section>
  );
}
