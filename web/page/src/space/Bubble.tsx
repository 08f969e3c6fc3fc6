// One message: its author, its parts in one bubble, and what can be done with it.

import { useRef, useState } from "react";
import type { Message, Part } from "@roomful/client";
import { ToolPart } from "@roomful/react";
import { Avatar } from "../Avatar.tsx";
import { BlobView, blobUrl } from "../blobs.tsx";
import { Markdown } from "../markdown/Markdown.tsx";
import { clock, fullTime } from "../words.ts";
import { Actions } from "./Actions.tsx";
import { EditForm } from "./EditForm.tsx";
import { Failures } from "./Failures.tsx";
import { Quote } from "./Quote.tsx";
import { useScene } from "./scene.ts";

export function Bubble({ message }: { message: Message }) {
  const { members, me } = useScene();
  const [isEditing, setEditing] = useState(false);
  const article = useRef<HTMLElement>(null);
  const editButton = useRef<HTMLButtonElement>(null);
  const edited = () => {
    setEditing(false);
    // Whoever has gone on meanwhile is left where they are.
    if (article.current?.contains(document.activeElement)) editButton.current?.focus({ preventScroll: true });
  };
  const author = members.get(message.entityId);
  const name = author?.name ?? message.entityId;
  const isMine = message.entityId === me;
  return (
    <article
      ref={article} className={`message${isMine ? " mine" : ""}${message.mentions.includes(me) ? " to-me" : ""}`}
      data-id={message.id} aria-label={name} aria-busy={message.status === "open"}
    >
      <Avatar id={message.entityId} name={name} isAgent={author?.kind === "agent"} />
      <div className="said">
        <header>
          <b dir="auto">{name}</b>
          {author?.kind === "agent" && <span className="kind">agent</span>}
          <time dateTime={message.createdAt} title={fullTime(message.createdAt)}>{clock(message.createdAt)}</time>
          {message.updatedAt > message.createdAt && message.role === "user" && !message.deleted && <span className="kind">edited</span>}
        </header>
        <div className="bubble">
          {message.replyTo && <Quote messageId={message.replyTo} />}
          {message.deleted && <p className="deleted">This message was deleted.</p>}
          {isEditing
            ? <EditForm message={message} onDone={edited} />
            : message.parts.map((part) => <OnePart key={part.id} message={message} part={part} />)}
          {message.attachments.map((id) => <BlobView key={id} url={blobUrl(id)} />)}
        </div>
        <Woken message={message} />
        <Failures message={message} />
        {!message.deleted && <Actions message={message} editButton={editButton} onEdit={() => setEditing(true)} />}
      </div>
    </article>
  );
}

function OnePart({ message, part }: { message: Message; part: Part }) {
  if (part.type === "tool_call") return <ToolPart spaceId={message.spaceId} part={part} />;
  const isStreaming = part.status === "streaming";
  if (part.type === "reasoning") {
    return (
      <details className="reasoning" open={isStreaming}>
        <summary>{isStreaming ? "Thinking…" : "Thought"}</summary>
        <Markdown text={part.text} isStreaming={isStreaming} />
      </details>
    );
  }
  return <div className={`text${isStreaming ? " streaming" : ""}`}><Markdown text={part.text} isStreaming={isStreaming} /></div>;
}

/** What became of a message for an agent that was busy. */
function Woken({ message: { woke } }: { message: Message }) {
  const { nameOf } = useScene();
  return woke?.map(({ runId, agentId, how }) => (
    <p key={runId + how} className="woke">
      {how === "queued" ? `${nameOf(agentId)} is busy: this comes next.` : `Handed to ${nameOf(agentId)} while it works.`}
    </p>
  ));
}
