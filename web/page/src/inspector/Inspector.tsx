// A run, for those who own its agent: what it did, where that was seen, when, and what it took.

import { useEffect, useMemo, useRef, type RefObject } from "react";
import type { Inspection, SpaceState } from "@roomful/client";
import { Icon } from "../Icon.tsx";
import { go } from "../place.ts";
import { asSentence } from "../words.ts";
import { Bounds, Head, Totals } from "./Head.tsx";
import { Look, useLook, type LookValue } from "./look.ts";
import { CalledRun, Steps } from "./Steps.tsx";
import { spansOf } from "./spans.ts";
import { Timeline } from "./Timeline.tsx";
import { useInspection, type Seen } from "./useInspection.ts";

interface Props { runId: string; spaces: SpaceState[]; onClose(): void }

export function Inspector({ runId, spaces, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const seen = useInspection(runId);
  useOpened(dialog);
  const close = () => dialog.current?.close();
  return (
    <dialog
      ref={dialog} className="inspector" aria-label="Run inspector" onClose={onClose}
      onClick={(event) => { if (event.target === dialog.current) close(); }}
    >
      <button className="icon-button close" aria-label="Close" title="Close" onClick={close}><Icon name="close" /></button>
      {seen.problem && <p className="problem refusal" role="alert">{asSentence(seen.problem)}</p>}
      {seen.inspection
        ? <Whole seen={seen} inspection={seen.inspection} spaces={spaces} close={close} />
        : !seen.problem && <p className="hint refusal" role="status">Looking into the run…</p>}
    </dialog>
  );
}

/** The browser gives the focus back when it closes, unless what had it is gone by then. */
function useOpened(dialog: RefObject<HTMLDialogElement | null>): void {
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (!opener?.isConnected) document.querySelector<HTMLElement>("[role=log]")?.focus();
    };
  }, [dialog]);
}

interface WholeProps { seen: Seen; inspection: Inspection; spaces: SpaceState[]; close(): void }

function Whole({ seen, inspection, spaces, close }: WholeProps) {
  const look = useMemo(() => lookAt(inspection, seen.at, spaces, close), [inspection, seen.at, spaces]);
  const top = look.runOf(inspection.run.id);
  return (
    <Look value={look}>
      <Head />
      <div className="inspected">
        {inspection.run.error && <p className="problem" dir="auto">{inspection.run.error.message}</p>}
        <Totals />
        <Timeline />
        <Bounds />
        <section aria-label="Steps">
          <h3>Steps</h3>
          {top && <Steps one={top} level={4} />}
          <Elsewhere />
        </section>
      </div>
    </Look>
  );
}

/** Runs of mine below a call that is not mine to see. */
function Elsewhere() {
  const { inspection } = useLook();
  const called = new Set(inspection.runs.flatMap(({ calls }) => calls.map(({ childRunId }) => childRunId)));
  const others = inspection.runs.filter(({ run }) => run.id !== inspection.run.id && !called.has(run.id));
  return others.map((one) => <CalledRun key={one.run.id} one={one} level={4} />);
}

function lookAt(inspection: Inspection, at: number, spaces: SpaceState[], close: () => void): LookValue {
  const runs = new Map(inspection.runs.map((one) => [one.run.id, one]));
  const agents = new Map(inspection.runs.filter(({ run }) => !run.parentCallId).map(({ run, agentName }) => [run.agentId, agentName]));
  const places = new Map(inspection.spaces.map(({ spaceId, name }) => [spaceId, name]));
  const isMine = (spaceId: string) => spaces.some(({ space }) => space.id === spaceId);
  // A clock of this machine that is behind must not let anything end before it began.
  const now = Math.max(at, ...timesIn(inspection));
  return {
    inspection, now, isMine,
    spans: spansOf(inspection, now),
    runOf: (id) => (id ? runs.get(id) : undefined),
    spaceName: (id) => places.get(id) ?? id,
    nameOf: (id) => nameIn(spaces, id) ?? agents.get(id) ?? id,
    open: (spaceId, messageId) => {
      close();
      go(spaceId, messageId);
    },
  };
}

function nameIn(spaces: SpaceState[], entityId: string): string | undefined {
  for (const { members } of spaces) {
    const member = members.get(entityId);
    if (member) return member.name;
  }
}

function timesIn({ runs }: Inspection): number[] {
  const all = runs.flatMap(({ run, steps, calls }) => [run.createdAt, ...[...steps, ...calls].flatMap(({ startedAt, endedAt }) => [startedAt, endedAt])]);
  return all.map((iso) => Date.parse(iso ?? "")).filter((time) => !Number.isNaN(time));
}
