// If a card cannot be drawn after all, the page stays, and what it was to show is shown as it came.

import { Component } from "react";
import type { ToolComponent, ToolProps } from "@roomful/react";
import { exactJson } from "./read.ts";
import { inWords } from "../words.ts";

interface GuardProps { Card: ToolComponent; shown: ToolProps }
interface GuardState { part: ToolProps["part"]; hasFailed: boolean }

class Guard extends Component<GuardProps, GuardState> {
  override state: GuardState = { part: this.props.shown.part, hasFailed: false };

  static getDerivedStateFromError(): Partial<GuardState> {
    return { hasFailed: true };
  }

  /** A part that has changed is tried again. */
  static getDerivedStateFromProps({ shown }: GuardProps, { part }: GuardState): GuardState | null {
    return shown.part === part ? null : { part: shown.part, hasFailed: false };
  }

  override render() {
    const { Card, shown } = this.props;
    if (!this.state.hasFailed) return <Card {...shown} />;
    const { toolName, args, result, error } = shown.part;
    return (
      <section className="card" role="group" aria-label={inWords(toolName)}>
        <div className="card-body"><pre className="exact" dir="ltr">{exactJson({ toolName, args, result, error })}</pre></div>
      </section>
    );
  }
}

export function guarded(Card: ToolComponent): ToolComponent {
  return (shown: ToolProps) => <Guard Card={Card} shown={shown} />;
}
