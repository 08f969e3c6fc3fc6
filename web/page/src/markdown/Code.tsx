import { useEffect, useState } from "react";
import { CheckIcon, CopyIcon } from "../cards/icons.tsx";

export function Code({ text, language }: { text: string; language?: string | undefined }) {
  const name = (language ?? "").split(/[\s,{]/, 1)[0]!.slice(0, 30);
  return (
    <figure className="code-block" dir="ltr">
      <figcaption className="code-head"><span>{name || "text"}</span><Copy text={text} /></figcaption>
      <pre tabIndex={0}><code>{text}</code></pre>
    </figure>
  );
}

function Copy({ text }: { text: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 2000);
    return () => clearTimeout(timer);
  }, [said]);

  async function copy() {
    // Without a secure context there is no clipboard.
    const isDone = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    setSaid(isDone ? "Copied" : "Not allowed");
  }

  return (
    <button type="button" className="copy" onClick={() => void copy()}>
      {said === "Copied" ? <CheckIcon /> : <CopyIcon />}<span aria-live="polite">{said || "Copy"}</span>
    </button>
  );
}
