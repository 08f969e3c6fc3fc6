// The frame of every card, and the lines that cards have in common.

import { useLayoutEffect, useRef, type FocusEvent, type ReactNode } from "react";
import type { PartStatus, ToolCallPart } from "@roomful/client";
import { useToolResult } from "@roomful/react";
import { clock } from "./format.ts";
import { AlertIcon, AskIcon, CheckIcon, ClockIcon, CrossIcon, PenIcon, SpinIcon, StopIcon } from "./icons.tsx";
import { Trail } from "./Trail.tsx";
import { Row } from "./Value.tsx";
import { asSentence } from "../words.ts";

export type Tone = "busy" | "asks" | "good" | "wrong" | "quiet";
export interface State { words: string; tone: Tone; icon: ReactNode }

const STATES: Record<PartStatus, State> = {
  streaming: { words: "Writing…", tone: "busy", icon: <PenIcon /> },
  ready: { words: "Starting…", tone: "busy", icon: <SpinIcon /> },
  running: { words: "Working…", tone: "busy", icon: <SpinIcon /> },
  waiting: { words: "Waiting", tone: "asks", icon: <ClockIcon /> },
  complete: { words: "Done", tone: "good", icon: <CheckIcon /> },
  error: { words: "Failed", tone: "wrong", icon: <AlertIcon /> },
  canceled: { words: "Canceled", tone: "quiet", icon: <StopIcon /> },
  unknown: { words: "Outcome unknown", tone: "quiet", icon: <AskIcon /> },
};

export const REJECTED: State = { words: "Rejected", tone: "wrong", icon: <CrossIcon /> };
export const APPROVED: State = { words: "Approved", tone: "good", icon: <CheckIcon /> };

export function stateOf(status: PartStatus): State {
  return STATES[status] ?? STATES.unknown;
}

export function Badge({ state }: { state: State }) {
  return <span className={`badge badge-${state.tone}`}>{state.icon}{state.words}</span>;
}

interface CardProps {
  part: ToolCallPart;
  /** The card's accessible name; the title where that is text. */
  label: string;
  title?: ReactNode;
  /** Beside the title, in small. */
  kind?: ReactNode;
  state?: State;
  className?: string;
  footer?: ReactNode;
  children?: ReactNode;
}

export function Card({ part, label, title, kind, state = stateOf(part.status), className = "", footer, children }: CardProps) {
  const { onlyFor } = useToolResult();
  return (
    <section className={`card ${className}`} role="group" aria-label={label} aria-busy={part.status === "streaming"} data-status={part.status}
      tabIndex={-1} {...useFocusKept(part.status)}>
      <header className="card-head">
        <div className="card-names" title={part.toolName}>
          {kind && <span className="card-kind">{kind}</span>}
          <strong className="card-title" dir="auto">{title ?? label}</strong>
        </div>
        <Badge state={state} />
      </header>
      {children && <div className="card-body">{children}</div>}
      {part.child && <Trail child={part.child} />}
      {footer && <footer className="card-foot">{footer}{onlyFor && <p className="quiet">Only {onlyFor} may answer.</p>}</footer>}
    </section>
  );
}

export function Rows({ rows }: { rows: readonly (readonly [string, unknown])[] }) {
  if (!rows.length) return null;
  return (
    <dl className="rows">
      {rows.map(([name, value]) => <Row key={name} name={name} value={value} />)}
    </dl>
  );
}

interface SettledProps { verb: string; by?: string | undefined; at?: string | undefined; reason?: string | undefined; tone?: Tone }

/** Whoever pressed a button that is gone now goes on from the card. */
function useFocusKept(status: PartStatus) {
  const ref = useRef<HTMLElement>(null);
  const holds = useRef(false);
  useLayoutEffect(() => {
    if (holds.current && document.activeElement === document.body) ref.current?.focus({ preventScroll: true });
  }, [status]);
  return {
    ref,
    onFocus: () => { holds.current = true; },
    onBlur: (event: FocusEvent) => { holds.current = event.relatedTarget === null; },
  };
}

/** "Approved by Grace · 14:05" */
export function Settled({ verb, by, at, reason, tone = "good" }: SettledProps) {
  const who = by ? `${verb} by ${by}` : verb;
  const said = [who, clock(at)].filter(Boolean).join(" · ");
  return (
    <div className={`settled settled-${tone}`}>
      {tone === "wrong" ? <CrossIcon /> : <CheckIcon />}
      <div>
        <span dir="auto">{said}</span>
        {reason && <p className="reason" dir="auto">{reason}</p>}
      </div>
    </div>
  );
}

export function Problem({ children }: { children?: ReactNode }) {
  if (!children) return null;
  return <p className="problem" role="alert" dir="auto"><AlertIcon /><span>{typeof children === "string" ? asSentence(children) : children}</span></p>;
}

/** What the model has still to write. Drawn only while it writes. */
export function Missing({ part, wide = false }: { part: ToolCallPart; wide?: boolean }) {
  if (part.status !== "streaming") return null;
  return <span className={wide ? "missing missing-wide" : "missing"} aria-hidden="true" />;
}

/** What went wrong with the call, or how it ended without an answer. */
export function Ending({ part }: { part: ToolCallPart }) {
  if (part.status === "error") return <Problem>{part.error || "It failed without saying why."}</Problem>;
  if (part.status === "canceled") return <p className="quiet">Canceled before it was done.</p>;
  if (part.status === "unknown") return <p className="quiet">The gateway stopped meanwhile: nobody knows whether it was done.</p>;
  return null;
}
