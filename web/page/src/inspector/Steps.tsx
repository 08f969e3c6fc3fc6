// What a run did, step by step, with the runs that it called where it called them.

import type { InspectedRun } from "@roomful/client";
import { Long } from "../cards/Value.tsx";
import { Call } from "./Call.tsx";
import { Badge, Heading } from "./Head.tsx";
import { useLook } from "./look.ts";
import { cost, duration, number, runStatus } from "./says.ts";
import { stepKey, stepNumbers } from "./spans.ts";

export function Steps({ one, level }: { one: InspectedRun; level: number }) {
  const numbers = stepNumbers(one.steps, one.calls);
  if (!numbers.length) return <p className="hint">Nothing yet.</p>;
  return (
    <ol className="steps">
      {numbers.map((each) => <li key={each}><OneStep one={one} at={each} level={level} /></li>)}
    </ol>
  );
}

function OneStep({ one, at, level }: { one: InspectedRun; at: number; level: number }) {
  const step = one.steps.find((each) => each.number === at);
  const calls = one.calls.filter((each) => each.step === at);
  return (
    <>
      <div className="step-head">
        <Heading level={level}>Step {at + 1}</Heading>
        <Took one={one} at={at} />
      </div>
      {step?.text.trim() && <p className="step-text" dir="auto"><Long value={step.text.trim()} limit={600} /></p>}
      {step && !step.isOpen && !step.text.trim() && !calls.length && <p className="hint">Said nothing and called nothing.</p>}
      {calls.length > 0 && (
        <ul className="calls">
          {calls.map((call) => (
            <Call key={call.toolCallId} call={call} level={level + 1}>
              <Below runId={call.childRunId} level={level + 2} />
            </Call>
          ))}
        </ul>
      )}
    </>
  );
}

function Took({ one, at }: { one: InspectedRun; at: number }) {
  const { spans } = useLook();
  const step = one.steps.find((each) => each.number === at);
  if (!step) return null;
  const span = step.startedAt ? spans.steps.get(stepKey(one.run.id, at)) : undefined;
  const { inputTokens, outputTokens } = step.usage;
  return (
    <small>
      {step.isOpen ? "being written" : `${number(inputTokens)} tokens in, ${number(outputTokens)} out`}
      {span && ` · ${duration(span.end - span.start)}`}
    </small>
  );
}

function Below({ runId, level }: { runId: string | undefined; level: number }) {
  const one = useLook().runOf(runId);
  return one ? <CalledRun one={one} level={level} /> : null;
}

export function CalledRun({ one, level }: { one: InspectedRun; level: number }) {
  const { usage, run, agentName } = one;
  return (
    <section className="called-run" aria-label={`Run of ${agentName}`}>
      <div className="step-head">
        <Heading level={level}><span dir="auto">{agentName}</span> <Badge said={runStatus(run.status)} /></Heading>
        <small>
          {number(usage.inputTokens)} tokens in, {number(usage.outputTokens)} out{one.cost && ` · ${cost(one.cost)}`}
        </small>
      </div>
      {run.error && <p className="problem" dir="auto">{run.error.message}</p>}
      <Steps one={one} level={level + 1} />
    </section>
  );
}
