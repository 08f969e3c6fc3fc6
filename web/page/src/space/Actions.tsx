// What can be done with a message.

import { useState, type RefObject } from "react";
import type { Message } from "@roomful/client";
import { useLive } from "@roomful/react";
import { useCopy } from "../copying.ts";
import { Icon, type IconName } from "../Icon.tsx";
import { asSentence } from "../words.ts";
import { useScene } from "./scene.ts";

interface Props { message: Message; editButton: RefObject<HTMLButtonElement | null>; onEdit(): void }

export function Actions({ message, editButton, onEdit }: Props) {
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
      {text && <Copy text={text} />}
      {isMine && <Action name="Edit" icon="edit" act={onEdit} ref={editButton} />}
      {isMine && <Action name="Delete" icon="remove" act={remove} />}
      {message.runId && myAgents.has(message.entityId) && <Action name="Inspect run" icon="inspect" act={() => onInspect(message.runId!)} />}
      {problem && <span role="alert" className="problem">{asSentence(problem)}</span>}
    </div>
  );
}

function Copy({ text }: { text: string }) {
  const [told, copy] = useCopy(text);
  return (
    <>
      <Action name="Copy" icon="copy" act={copy} />
      {told && <span className="told" role="status">{told}</span>}
    </>
  );
}

interface ActionProps { name: string; icon: IconName; act(): void; ref?: RefObject<HTMLButtonElement | null> }

function Action({ name, icon, act, ref }: ActionProps) {
  return <button ref={ref} className="icon-button" aria-label={name} title={name} onClick={act}><Icon name={icon} /></button>;
}
