// A fault of the page itself must not leave an empty window.

import { Component, type ReactNode } from "react";

export class Mishap extends Component<{ children: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    if (!this.state.isBroken) return this.props.children;
    return (
      <main className="empty" role="alert">
        <p>The page has a fault and stopped. Nothing that was said is lost. <button onClick={() => location.reload()}>Open it again</button></p>
      </main>
    );
  }
}
