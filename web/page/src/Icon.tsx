// The page's own few icons, drawn with one pen.

const PATHS = {
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 20 20",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4m11.2 11.2L19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  contrast: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  leave: "M14 4H6v16h8M10 12h11m-4-4 4 4-4 4",
  send: "M4 12h15m-6-6 6 6-6 6",
  attach: "M20 11.5 12.2 19a5 5 0 0 1-7-7l8-8a3.3 3.3 0 0 1 4.7 4.7l-8 8a1.7 1.7 0 0 1-2.4-2.4l7-7",
  reply: "M9 6 4 11l5 5M4 11h9a7 7 0 0 1 7 7v1",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  remove: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  inspect: "M4 19V9m5 10V5m5 14v-7m5 7V8",
  back: "M15 5l-7 7 7 7",
  down: "M12 5v14m-6-6 6 6 6-6",
  close: "M6 6l12 12M18 6 6 18",
  stop: "M7 7h10v10H7z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon-drawn" viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
      <path d={PATHS[name]} fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
