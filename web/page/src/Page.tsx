import { useEffect, useState } from "react";
import { RoomfulProvider } from "@roomful/react";
import { ApprovalGate, GenericCard, tools } from "./cards/index.ts";
import { DoorPage } from "./DoorPage.tsx";
import { House } from "./House.tsx";
import { lookIn, signOut, type Door } from "./identity.ts";
import { useTheme } from "./theme.ts";

export function Page() {
  const [door, setDoor] = useState<Door | null>(null);
  const theme = useTheme();
  useEffect(() => { void untilFound(setDoor); }, []);
  if (!door) return <Loading />;
  if (!door.me) return <DoorPage people={door.people} onEnter={setDoor} />;
  const leave = () => void signOut(door).then(setDoor);
  return (
    <RoomfulProvider
      key={door.me.id}
      client={door.client}
      tools={tools}
      fallback={GenericCard}
      approval={ApprovalGate}
      loading={<Loading />}
      refused={() => <DoorPage people={door.people} onEnter={setDoor} />}
    >
      <House people={door.people} theme={theme} onLeave={leave} />
    </RoomfulProvider>
  );
}

function Loading() {
  return <main className="loading" aria-busy="true"><p role="status">Opening the house…</p></main>;
}

/** A gateway that is just starting is asked again. */
async function untilFound(found: (door: Door) => void): Promise<void> {
  try {
    found(await lookIn());
  } catch {
    setTimeout(() => void untilFound(found), 1000);
  }
}
