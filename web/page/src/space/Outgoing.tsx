// What I said and the gateway does not have yet.

import { useAui } from "@assistant-ui/react";
import { useLive } from "@roomful/react";
import { asSentence } from "../words.ts";
import { useNow } from "./scene.ts";

export function Outgoing() {
  const aui = useAui();
  const live = useLive();
  const { outgoing } = useNow();
  return outgoing.map(({ clientMessageId, message, problem }) => (
    <article key={clientMessageId} className="message mine outgoing" aria-label={`${live.me.name}, not sent yet`}>
      <div className="said">
        <div className="bubble"><div className="text plain" dir="auto">{message.text}</div></div>
        {problem === undefined
          ? <p className="woke">Sending…</p>
          : <p className="failure" role="alert">
              <span>Not sent: {asSentence(problem)}</span>
              <button onClick={() => live.sendAgain(clientMessageId)}>Send again</button>
              <button onClick={() => { aui.composer().setText(message.text); live.giveUp(clientMessageId); }}>Edit</button>
              <button onClick={() => live.giveUp(clientMessageId)}>Discard</button>
            </p>}
      </div>
    </article>
  ));
}
