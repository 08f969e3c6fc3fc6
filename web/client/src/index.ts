export * from "./wire.ts";
export { Client, Problem } from "./asking.ts";
export type { BlobMade, ClientOptions, NewMessage, Outcome, PageQuery, Posted } from "./asking.ts";
export { runState, SpaceView, type EventData, type RunState } from "./fold.ts";
export type { LineState } from "./line.ts";
export { Live, type LiveOptions, type SpaceState } from "./live.ts";
export type { Outgoing } from "./outbox.ts";
export type { Shelf } from "./shelf.ts";
