// One call, whole: how it stands, who sees how much of it, what went in and what came out.

import type { ReactNode } from "react";
import type { InspectedCall, Json } from "@roomful/client";
import { clock, fullTime, inWords } from "../words.ts";
import { Badge, Heading } from "./Head.tsx";
import { useLook } from "./look.ts";
import { callStatus, duration, isSettled, shownAs } from "./says.ts";
import { entryProps } from "./Timeline.tsx";

const LONGEST = 50_000;
const PREVIEW = 90;

interface Props { call: InspectedCall; level: number; children: ReactNode }

export function Call({ call, level, children }: Props) {
  const hasResult = call.result !== undefined && (call.result !== null || call.status === "complete");
  return (
    <li className="call" {...entryProps(call.toolCallId)}>
      <div className="call-head">
        <Heading level={level}><span title={call.toolName} dir="auto">{inWords(call.toolName)}</span></Heading>
        <Badge said={callStatus(call)} />
        <Took call={call} />
      </div>
      <Facts call={call} />
      {call.error && <p className="problem" dir="auto">{call.error}</p>}
      {call.args !== undefined && <Data name="Arguments" value={call.args} />}
      {hasResult && <Data name="Result" value={call.result!} />}
      {children}
    </li>
  );
}

function Took({ call }: { call: InspectedCall }) {
  const span = useLook().spans.calls.get(call.toolCallId);
  if (!span || !call.startedAt || (isSettled(call) && !call.endedAt)) return null;
  return <small><time dateTime={call.startedAt} title={fullTime(call.startedAt)}>{clock(call.startedAt)}</time> · {duration(span.end - span.start)}</small>;
}

function Facts({ call }: { call: InspectedCall }) {
  const { nameOf } = useLook();
  return (
    <dl className="facts">
      <div><dt>Visibility</dt><dd>{shownAs(call.visibility)}</dd></div>
      {call.spaceIds.length > 0 && <div><dt>Route</dt><dd><Route call={call} /></dd></div>}
      {call.answeredBy && (
        <div>
          <dt>Answered by</dt>
          <dd><span dir="auto">{nameOf(call.answeredBy)}</span>{call.answeredAt && <> · <time dateTime={call.answeredAt} title={fullTime(call.answeredAt)}>{clock(call.answeredAt)}</time></>}</dd>
        </div>
      )}
      {call.reason && <div><dt>Reason</dt><dd dir="auto">{call.reason}</dd></div>}
    </dl>
  );
}

/** The spaces by name; a name leads to the message, if there is one that I may read. */
function Route({ call: { spaceIds, places, visibility, targetEntityId } }: { call: InspectedCall }) {
  const { spaceName, nameOf, isMine, open } = useLook();
  const isSeen = visibility !== "hidden";
  return (
    <>
      {spaceIds.map((id, index) => {
        const place = places.find(({ spaceId }) => spaceId === id);
        const name = <span dir="auto">{spaceName(id)}</span>;
        return (
          <span key={id}>
            {index > 0 && ", "}
            {place && isMine(id) ? <button className="to-message" title={`Go to the message in ${spaceName(id)}`} onClick={() => open(id, place.messageId)}>{name}</button> : name}
          </span>
        );
      })}
      {!isSeen && ", not shown there"}
      {isSeen && targetEntityId && <>, only for <span dir="auto">{nameOf(targetEntityId)}</span></>}
    </>
  );
}

function Data({ name, value }: { name: string; value: Json }) {
  const short = JSON.stringify(value);
  const whole = JSON.stringify(value, null, 2);
  return (
    <details className="data">
      <summary><span>{name}</span> <code dir="ltr">{short.slice(0, PREVIEW)}{short.length > PREVIEW && "…"}</code></summary>
      <pre tabIndex={0} role="group" dir="ltr" aria-label={name}>{whole.slice(0, LONGEST)}{whole.length > LONGEST && "…"}</pre>
    </details>
  );
}
