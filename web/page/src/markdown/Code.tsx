import { CheckIcon, CopyIcon } from "../cards/icons.tsx";
import { COPIED, useCopy } from "../copying.ts";

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
  const [told, copy] = useCopy(text);
  return (
    <button type="button" className="copy" onClick={copy}>
      {told === COPIED ? <CheckIcon /> : <CopyIcon />}<span aria-live="polite">{told || "Copy"}</span>
    </button>
  );
}
