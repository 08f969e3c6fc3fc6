// What can be done with a message.

import { useState } from "react";
import type { Message } from "@roomful/client";
import { useLive } from "@roomful/react";
import { Icon, type IconName } from "../Icon.tsx";
import { useScene } from "./scene.ts";

export function Actions({ message, onEdit }: { message: Message; onEdit(): void }) {
  const { client } = useLive();
  const { role, me, myAgents, onReply, onInspect } = useScene();
  const [problem, setProblem] = useState("");
  const mayWrite = role !== "reader";
  const isMine = message.entityId === me && mayWrite;
  const remove = () => {
    if (!confirm("Delete this message for everybody?")) return;
    client.remove(message.spaceId, message.id).catch((error: Error) => setProblem(error.message));
  };
  const text = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
  return (
    <div className="actions">
      {mayWrite && <Action name="Reply" icon="reply" act={() => onReply(message)} />}
      {text && <Action name="Copy" icon="copy" act={() => void navigator.clipboard?.writeText(text)} />}
      {isMine && <Action name="Edit" icon="edit" act={onEdit} />}
      {isMine && <Action name="Delete" icon="remove" act={remove} />}
      {message.runId && myAgents.has(message.entityId) && <Action name="Inspect run" icon="inspect" act={() => onInspect(message.runId!)} />}
      {problem && <span role="alert" className="problem">{problem}</span>}
    </div>
  );
}

function Action({ name, icon, act }: { name: string; icon: IconName; act(): void }) {
  return <button className="icon-button" aria-label={name} title={name} onClick={act}><Icon name={icon} /></button>;
}
