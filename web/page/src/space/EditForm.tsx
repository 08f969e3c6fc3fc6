// One's own words, changed.

import { useState, type FormEvent } from "react";
import type { Message } from "@roomful/client";
import { useLive } from "@roomful/react";

export function EditForm({ message, onDone }: { message: Message; onDone(): void }) {
  const { client } = useLive();
  const [text, setText] = useState(message.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n"));
  const [problem, setProblem] = useState("");
  const save = (event: FormEvent) => {
    event.preventDefault();
    client.edit(message.spaceId, message.id, text).then(onDone, (error: Error) => setProblem(error.message));
  };
  return (
    <form className="edit" onSubmit={save} onKeyDown={(event) => { if (event.key === "Escape") onDone(); }}>
      <textarea aria-label="Edit message" dir="auto" autoFocus value={text} onChange={(event) => setText(event.target.value)} rows={3} />
      <button className="primary" disabled={!text.trim()}>Save</button>
      <button type="button" onClick={onDone}>Cancel</button>
      {problem && <p role="alert" className="problem">{problem}</p>}
    </form>
  );
}
