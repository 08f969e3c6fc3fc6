// Runs that ended badly, under the message that started them, now and after a reload.

import { useState } from "react";
import type { Message, RunState } from "@roomful/client";
import { useLive } from "@roomful/react";
import { asSentence } from "../words.ts";
import { useScene } from "./scene.ts";

export function Failures({ message }: { message: Message }) {
  const { failures } = useScene();
  return [...failures.values()]
    .filter(({ trigger }) => trigger?.messageId === message.id)
    .map((run) => <Failure key={run.runId} run={run} />);
}

function Failure({ run }: { run: RunState }) {
  const { client } = useLive();
  const { role, nameOf } = useScene();
  const [told, setTold] = useState("");
  const retry = () => void client.retry(run.runId).then(() => setTold("Started again."), (error: Error) => setTold(asSentence(error.message)));
  return (
    <p className="failure" role="alert">
      <span>{nameOf(run.entityId)} could not finish: {asSentence(run.error?.message || "it failed")}</span>
      {told ? <span>{told}</span> : role !== "reader" && <button onClick={retry}>Try again</button>}
    </p>
  );
}
