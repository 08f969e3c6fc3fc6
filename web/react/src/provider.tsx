// The house in React: who I am, what I may see, and the components that draw tool calls.

import {
  createContext, useCallback, useContext, useEffect, useMemo, useState, useSyncExternalStore, type ReactNode,
} from "react";
import {
  Live, Problem, type Approvers, type Client, type Entity, type LineState, type LiveOptions, type NewMessage, type Outgoing,
  type Outcome, type Role, type SpaceState, type ToolCallPart,
} from "@roomful/client";
import { PlainCard } from "./plain.tsx";
import { AlreadySettled, ToolCall, type ToolComponent, type ToolRegistry } from "./tools.tsx";

interface House { live: Live; tools: ToolRegistry; fallback: ToolComponent; approval: ToolComponent }

const Here = createContext<House | null>(null);

export interface RoomfulProviderProps {
  client: Client;
  /** Components by `customUI` or by the tool's name. */
  tools?: ToolRegistry;
  /** Draws every other tool call. */
  fallback?: ToolComponent;
  /** Draws a call that is executed only when somebody agrees, until it was. */
  approval?: ToolComponent;
  options?: LiveOptions;
  /** Shown until the first snapshot is there. */
  loading?: ReactNode;
  /** Shown when the gateway does not know who asks. */
  refused?: (problem: Problem) => ReactNode;
  children: ReactNode;
}

const NONE: ToolRegistry = {};

export function RoomfulProvider(props: RoomfulProviderProps) {
  const { client, tools = NONE, fallback = PlainCard, approval = fallback, options, loading = null, refused, children } = props;
  const [me, problem] = useMe(client);
  const live = useMemo(() => (me ? new Live(client, me, options) : null), [client, me]);
  useEffect(() => {
    live?.start();
    return () => live?.stop();
  }, [live]);
  const house = useMemo(() => (live ? { live, tools, fallback, approval } : null), [live, tools, fallback, approval]);
  if (problem) return refused?.(problem) ?? null;
  return house ? <Here value={house}><Ready loading={loading}>{children}</Ready></Here> : loading;
}

function Ready({ loading, children }: { loading: ReactNode; children: ReactNode }) {
  const { live } = useHouse();
  return useSyncExternalStore(live.subscribe, live.isReady) ? children : loading;
}

function useMe(client: Client): [Entity | null, Problem | null] {
  const [me, setMe] = useState<Entity | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const ask = () => client.me().then(
      (found) => isOver || setMe(found),
      (error: unknown) => {
        if (isOver) return;
        if (error instanceof Problem && error.status < 500) setProblem(error);
        else timer = setTimeout(ask, 1000);
      },
    );
    void ask();
    return () => { isOver = true; clearTimeout(timer); };
  }, [client]);
  return [me, problem];
}

function useHouse(): House {
  const house = useContext(Here);
  if (!house) throw new Error("this is for components inside a RoomfulProvider");
  return house;
}

/** The store behind the hooks, for what they do not offer. */
export const useLive = (): Live => useHouse().live;
export const useMyself = (): Entity => useHouse().live.me;

/** How the line to the gateway is. */
export function useLine(): LineState {
  const { live } = useHouse();
  return useSyncExternalStore(live.subscribe, live.line);
}

/** Every space of mine, with what is in it. */
export function useSpaces(): SpaceState[] {
  const { live } = useHouse();
  return useSyncExternalStore(live.subscribe, live.spaces);
}

export interface SpaceHandle extends SpaceState {
  /** Kept until the gateway has it, also over a lost line. */
  send(message: string | NewMessage): Outgoing;
  loadOlder(downTo?: number): Promise<void>;
  markRead(): void;
  nameOf(entityId: string): string;
}

/** One space, live; undefined when it is not one of mine. */
export function useSpace(id: string): SpaceHandle | undefined {
  const { live } = useHouse();
  const state = useSyncExternalStore(live.subscribe, useCallback(() => live.space(id), [live, id]));
  return useMemo(() => state && {
    ...state,
    send: (message) => live.send(id, typeof message === "string" ? { text: message } : message),
    loadOlder: (downTo) => live.loadOlder(id, downTo),
    markRead: () => live.markRead(id),
    nameOf: (entityId) => nameIn(state, entityId),
  }, [live, id, state]);
}

/** Draws one tool call of a space by the component that is registered for it. */
export function ToolPart({ spaceId, part }: { spaceId: string; part: ToolCallPart }) {
  const { live, fallback, approval, ...house } = useHouse();
  const isGate = part.asks === "approval" && !(part.status === "complete" && part.customUI);
  const tools = isGate ? { [part.customUI ?? part.toolName]: approval } : house.tools;
  const nameOf = useCallback((entityId: string) => nameIn(live.space(spaceId), entityId), [live, spaceId]);
  const send = useCallback(async (body: Parameters<typeof live.client.answer>[2]) => {
    try {
      await live.client.answer(part.runId ?? "", part.toolCallId, body);
    } catch (error) {
      throw asTold(error, nameOf);
    }
  }, [live, part.runId, part.toolCallId, nameOf]);
  const role = live.space(spaceId)?.space.role;
  const may = (those: Approvers | undefined) => part.runId !== undefined && isOneOf(those, live.me.id, role);
  const rights = { mayAnswer: may(part.approvers), mayClose: may(part.closers) };
  return <ToolCall {...{ tools, fallback, part, nameOf, send, ...rights }} me={live.me.id} />;
}

function isOneOf(those: Approvers | undefined, me: string, role: Role | undefined): boolean {
  if (!role || role === "reader") return false;
  return !those || Boolean(those.entities?.includes(me) || those.roles?.includes(role));
}

function nameIn(state: SpaceState | undefined, entityId: string): string {
  return state?.members.get(entityId)?.name ?? entityId;
}

function asTold(error: unknown, nameOf: (id: string) => string): Error {
  if (!(error instanceof Problem)) return new Error("The gateway cannot be reached. Try again in a moment.");
  return error.outcome?.answeredBy ? new AlreadySettled(inWords(error.outcome, nameOf)) : error;
}

/** What became of a card that somebody else settled first. */
function inWords({ result, answeredBy }: Outcome, nameOf: (id: string) => string): string {
  const approved = typeof result === "object" && result !== null && !Array.isArray(result) ? result.approved : undefined;
  const what = approved === true ? "approved" : approved === false ? "rejected" : "answered";
  return `Already ${what} by ${nameOf(answeredBy!)}.`;
}
