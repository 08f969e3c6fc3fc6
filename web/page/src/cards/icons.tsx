// Small signs in the colour of the text beside them. Words always stand next to them, so readers skip them.

import type { ReactNode } from "react";

function icon(name: string, lines: ReactNode) {
  return () => (
    <svg className={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor"
      strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      {lines}
    </svg>
  );
}

const circle = <circle cx="8" cy="8" r="6.2" />;

export const CheckIcon = icon("check", <>{circle}<path d="m5.4 8.2 1.8 1.8 3.5-3.8" /></>);
export const CrossIcon = icon("cross", <>{circle}<path d="m6 6 4 4m0-4-4 4" /></>);
export const AlertIcon = icon("alert", <>{circle}<path d="M8 4.9v3.6m0 2.5v.1" /></>);
export const ClockIcon = icon("clock", <>{circle}<path d="M8 4.6V8l2.2 1.4" /></>);
export const StopIcon = icon("stop", <>{circle}<path d="m3.8 12.2 8.4-8.4" /></>);
export const AskIcon = icon("ask", <>{circle}<path d="M6.3 6.2c.2-2 3.5-1.9 3.4.1 0 1.3-1.7 1.3-1.7 2.5m0 2.1v.1" /></>);
export const SpinIcon = icon("spin", <path d="M14.2 8A6.2 6.2 0 1 1 8 1.8" />);
export const PenIcon = icon("pen", <path d="M2.5 13.5 3.3 10 10.6 2.7a1.6 1.6 0 0 1 2.3 0l.4.4a1.6 1.6 0 0 1 0 2.3L6 12.7zM9.4 4l2.6 2.6" />);
export const ChevronIcon = icon("chevron", <path d="m6 3.5 4.5 4.5L6 12.5" />);
export const UpIcon = icon("up", <path d="m4 9.8 4-4 4 4" />);
export const DownIcon = icon("down", <path d="m4 6.2 4 4 4-4" />);
export const FileIcon = icon("file", <path d="M9.2 1.8H4.4a1 1 0 0 0-1 1v10.4a1 1 0 0 0 1 1h7.2a1 1 0 0 0 1-1V5.2zm0 0v3.4h3.4" />);
export const CopyIcon = icon("copy", <><rect x="5.6" y="5.6" width="8" height="8" rx="1.6" /><path d="M10.4 5.6V3.8a1.4 1.4 0 0 0-1.4-1.4H3.8a1.4 1.4 0 0 0-1.4 1.4V9a1.4 1.4 0 0 0 1.4 1.4h1.8" /></>);
export const ShieldIcon = icon("shield", <path d="M8 1.8 13 3.6v3.9c0 3.1-2.1 5.4-5 6.7-2.9-1.3-5-3.6-5-6.7V3.6z" />);
export const AgentIcon = icon("agent", <><rect x="2.8" y="5.2" width="10.4" height="7.8" rx="2.2" /><path d="M8 5.2V2.6m-2.3 5.9v.9m4.6-.9v.9" /></>);
export const StarIcon = icon("star", <path d="m8 2 1.8 3.8 4.2.5-3.1 2.9.8 4.1L8 11.2l-3.7 2.1.8-4.1L2 6.3l4.2-.5z" />);
export const ImageIcon = icon("image", <><rect x="2" y="2.6" width="12" height="10.8" rx="1.8" /><circle cx="5.7" cy="6.2" r="1.1" /><path d="m2.6 12 3.6-3.4 2.2 2 2.4-2.4 3 3" /></>);
