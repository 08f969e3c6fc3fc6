// The card of a tool that nobody registered a component for.

import { useToolResult, type ToolProps } from "./tools.tsx";

export function PlainCard({ args, part, result, error, status }: ToolProps) {
  const { canAnswer, answer, problem } = useToolResult();
  return (
    <div role="group" aria-label={part.toolName}>
      <strong>{part.toolName}</strong> <span>{status}</span>
      <pre>{JSON.stringify(args, null, 2)}</pre>
      {result != null && <pre>{JSON.stringify(result, null, 2)}</pre>}
      {error && <p role="alert">{error}</p>}
      {part.asks && status === "waiting" && (
        <p>
          <button disabled={!canAnswer} onClick={() => answer({ approved: true })}>Yes</button>
          <button disabled={!canAnswer} onClick={() => answer({ approved: false })}>No</button>
        </p>
      )}
      {problem && <p role="alert">{problem}</p>}
    </div>
  );
}
