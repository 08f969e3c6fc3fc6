// A link that somebody else wrote. Its address may carry words of this space away, so leaving is asked first.

import { useRef, useState, type MouseEvent, type ReactNode } from "react";
import { createPortal } from "react-dom";

/** The address if it may be followed at all. */
export function safeUrl(href: unknown): URL | null {
  if (typeof href !== "string" || !/^(?:https?:\/\/|mailto:)/i.test(href.trim())) return null;
  try {
    return new URL(href.trim());
  } catch {
    return null;
  }
}

export function SafeLink({ href, children }: { href: unknown; children: ReactNode }) {
  const [asks, setAsks] = useState(false);
  const url = safeUrl(href);
  if (!url) return <span className="link-refused">{children}</span>;

  function ask(event: MouseEvent) {
    if (event.button > 1) return; // the menu of the right button
    event.preventDefault();
    setAsks(true);
  }

  return (
    <>
      <a className="link" href={url.href} target="_blank" rel="noopener noreferrer nofollow"
        referrerPolicy="no-referrer" title={url.href} onClick={ask} onAuxClick={ask}>{children}</a>
      {asks && <Leaving url={url} onDone={() => setAsks(false)} />}
    </>
  );
}

function Leaving({ url, onDone }: { url: URL; onDone(): void }) {
  const shown = useRef<HTMLDialogElement | null>(null);
  const place = url.protocol === "mailto:" ? url.pathname.slice(0, 120) : url.host;

  function attach(dialog: HTMLDialogElement | null) {
    shown.current = dialog;
    if (dialog && !dialog.open) dialog.showModal();
  }

  function open() {
    if (url.protocol === "mailto:") window.location.href = url.href;
    else window.open(url.href, "_blank", "noopener,noreferrer");
    shown.current?.close();
  }

  return createPortal(
    <dialog className="leaving" ref={attach} onClose={onDone} aria-label={`Leave for ${place}?`}>
      <p className="leaving-title">Leave for {place}?</p>
      <p className="leaving-why">Somebody else wrote this link. Its address may tell that site what was said here.</p>
      <code className="leaving-url" dir="ltr">{url.href}</code>
      <div className="acts">
        <button type="button" className="act" autoFocus onClick={() => shown.current?.close()}>Stay</button>
        <button type="button" className="act act-main" onClick={open}>Open</button>
      </div>
    </dialog>,
    document.body,
  );
}
