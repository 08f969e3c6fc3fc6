// Tool calls drawn by components that are known by name. A component gets its own part and its own answer,
// and nothing else of the space.

import { createContext, useContext, useState, type ComponentType } from "react";
import type { Approvers, Arguments, Json, PartStatus, ToolCallPart } from "@roomful/client";

export interface ToolProps<Args = Arguments, Result = Json> {
  /** As far as the model has written them. */
  args: Partial<Args>;
  status: PartStatus;
  result?: Result | null;
  error?: string;
  part: ToolCallPart;
  /** My entity id. */
  me: string;
  nameOf(entityId: string): string;
}

// What a registry holds takes whatever the model sends: the types of one component are its own business.
export type ToolComponent = ComponentType<ToolProps<any, any>>;
export type ToolRegistry = Record<string, ToolComponent>;

export interface ToolAnswering {
  part: ToolCallPart;
  me: string;
  mayAnswer: boolean;
  mayClose: boolean;
  nameOf(entityId: string): string;
  send(body: { result: Json } | { close: true }): Promise<void>;
}

/** Somebody else was first. It stays on the card; other refusals go when the card is settled. */
export class AlreadySettled extends Error {}

const Answering = createContext<ToolAnswering | null>(null);

export interface ToolResult<Result = Json> {
  /** It waits, its input is complete, and I may answer. */
  canAnswer: boolean;
  /** It is a poll that I may close. */
  canClose: boolean;
  /** I am the one who answered. */
  isMine: boolean;
  /** Never rejects: a refusal is told in `problem`. */
  answer(result: Result): Promise<void>;
  /** Ends a poll. */
  close(): Promise<void>;
  isSending: boolean;
  problem: string | null;
  /** Who alone may answer, in words, where I may not. */
  onlyFor?: string;
  answeredBy?: string;
  answeredAt?: string;
}

/** The answer to the tool call that the component calling this draws. */
export function useToolResult<Result = Json>(): ToolResult<Result> {
  const answering = useContext(Answering);
  if (!answering) throw new Error("useToolResult is for components that draw a tool call");
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null);
  const { part, me, mayAnswer, mayClose, nameOf } = answering;

  async function send(body: { result: Json } | { close: true }): Promise<void> {
    setSending(true);
    setProblem(null);
    try {
      await answering!.send(body);
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
    }
    setSending(false);
  }

  const answers = part.answers ?? [];
  const isOpen = part.status === "waiting" && !isSending;
  const isTold = part.status === "waiting" || problem instanceof AlreadySettled;
  return {
    canAnswer: mayAnswer && isOpen,
    canClose: mayClose && isOpen,
    isMine: part.answeredBy === me || answers.some((each) => each.entityId === me),
    answer: (result) => send({ result: result as Json }),
    close: () => send({ close: true }),
    isSending,
    problem: isTold && problem ? problem.message : null,
    ...(part.status === "waiting" && part.approvers && !mayAnswer && { onlyFor: inWords(part.approvers, nameOf) }),
    ...(part.answeredBy !== undefined && { answeredBy: nameOf(part.answeredBy) }),
    ...(part.answeredAt !== undefined && { answeredAt: part.answeredAt }),
  };
}

function inWords({ roles = [], entities = [] }: Approvers, nameOf: (entityId: string) => string): string {
  return [...entities.map(nameOf), ...roles.map((role) => `every ${role} of this space`)].join(", ");
}

interface ToolCallProps extends ToolAnswering {
  tools: ToolRegistry;
  fallback: ToolComponent;
}

/** Draws a part by the component registered for its `customUI`, else for its tool's name. */
export function ToolCall({ tools, fallback, ...answering }: ToolCallProps) {
  const { part, me, nameOf } = answering;
  const Component = named(tools, part.customUI) ?? named(tools, part.toolName) ?? fallback;
  const shown = {
    args: isArguments(part.args) ? part.args : {},
    status: part.status,
    part,
    me,
    nameOf,
    ...(part.result !== undefined && { result: part.result }),
    ...(part.error !== undefined && { error: part.error }),
  };
  return (
    <Answering value={answering}>
      <Component {...shown} />
    </Answering>
  );
}

function named(tools: ToolRegistry, name: string | undefined): ToolComponent | undefined {
  return name !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined;
}

function isArguments(args: Json | undefined): args is Arguments {
  return typeof args === "object" && args !== null && !Array.isArray(args);
}
