// A page of your own around it. The agent's tool says `customUI: SeatCard`, and `tools` says what that is.

import { createRoot } from "react-dom/client";
import { Client } from "@roomful/client";
import { RoomfulProvider, ToolPart, useSpace } from "@roomful/react";
import { SeatCard } from "./SeatCard.tsx";

function Theatre() {
  const space = useSpace("theatre");
  if (!space) return <p>You are not in this space.</p>;
  return (
    <main>
      {space.messages.map((message) => (
        <article key={message.id} aria-label={space.nameOf(message.entityId)}>
          {message.parts.map((part) => part.type === "tool_call"
            ? <ToolPart key={part.id} spaceId="theatre" part={part} />
            : <p key={part.id}>{part.text}</p>)}
        </article>
      ))}
      <button onClick={() => space.send("Is there a seat left?")}>Ask</button>
    </main>
  );
}

const client = new Client({ token: location.hash.slice(1) });
createRoot(document.getElementById("page")!).render(
  <RoomfulProvider client={client} tools={{ SeatCard }}>
    <Theatre />
  </RoomfulProvider>,
);
