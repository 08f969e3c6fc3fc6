// One's own words, changed.

import { useState, type KeyboardEvent } from "react";
import type { Message } from "@roomful/client";
import { useLive } from "@roomful/react";
import { asSentence } from "../words.ts";

export function EditForm({ message, onDone }: { message: Message; onDone(): void }) {
  const { client } = useLive();
  const [text, setText] = useState(message.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n"));
  const [problem, setProblem] = useState("");
  const [isSaving, setSaving] = useState(false);
  const save = () => {
    if (isSaving || !text.trim()) return;
    setSaving(true);
    client.edit(message.spaceId, message.id, text).then(onDone, (error: Error) => {
      setProblem(error.message);
      setSaving(false);
    });
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") onDone();
    if (event.key !== "Enter" || event.shiftKey || !(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    save();
  };
  return (
    <form className="edit" onSubmit={(event) => { event.preventDefault(); save(); }} onKeyDown={pressed}>
      <textarea aria-label="Edit message" dir="auto" autoFocus value={text} onChange={(event) => setText(event.target.value)} rows={3} />
      <button className="primary" disabled={!text.trim()}>Save</button>
      <button type="button" onClick={onDone}>Cancel</button>
      {problem && <p role="alert" className="problem">{asSentence(problem)}</p>}
    </form>
  );
}
