// The nouns that a gateway sends. What a visibility hides is absent, not null.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Arguments = { [key: string]: Json };

export type PartStatus =
  | "streaming" | "ready" | "running" | "waiting" | "complete" | "error" | "canceled" | "unknown";
export type RunStatus =
  | "queued" | "running" | "waiting_tool" | "waiting_reply" | "completed" | "failed" | "canceled";
export type Role = "owner" | "member" | "reader";
export type Kind = "human" | "agent" | "service";

export interface Entity { id: string; name: string; kind: Kind }
export interface Member { entityId: string; name: string; kind: Kind; role: Role }

export interface Usage { inputTokens: number; outputTokens: number }

export interface ChildCall {
  toolCallId: string;
  toolName: string;
  status: "running" | "complete" | "error" | "canceled" | "unknown";
  args?: Json;
  result?: Json;
  error?: string;
  child?: Child;
}

export interface Child {
  runId: string | null;
  agentId: string;
  name: string;
  status: "running" | "completed" | "failed" | "canceled";
  text: string;
  calls?: ChildCall[];
  finishReason: string | null;
  usage: Usage | null;
}

export interface TextPart {
  type: "text" | "reasoning";
  id: string;
  text: string;
  status: PartStatus;
  toolCallId?: string;
  step?: number;
}

export interface ApprovalCard {
  agentId: string;
  argsHash: string;
  triggerSpaceId?: string;
  triggerEntityId?: string;
  approved?: boolean;
  reason?: string;
  /** Asked is whether something of these spaces may be shown in those. It is agreed to as it is, once. */
  fromSpaceIds?: string[];
  toSpaceIds?: string[];
}

/** Who alone may; either is enough. */
export interface Approvers { roles?: Role[]; entities?: string[] }

export interface MemberAnswer { entityId: string; result: Json; at: string }

export interface ToolCallPart {
  type: "tool_call";
  id: string;
  toolCallId: string;
  toolName: string;
  status: PartStatus;
  runId?: string;
  args?: Json;
  result?: Json;
  error?: string;
  customUI?: string;
  targetEntityId?: string;
  asks?: "answer" | "approval";
  agentId?: string;
  step?: number;
  approval?: ApprovalCard;
  /** Of a card that waits; absent: everybody who may write. */
  approvers?: Approvers;
  /** Of a poll: who may close it. */
  closers?: Approvers;
  answers?: MemberAnswer[];
  question?: Json;
  answeredBy?: string;
  answeredAt?: string;
  child?: Child;
  providerCallId?: string;
}

export type Part = TextPart | ToolCallPart;

export interface Woke { runId: string; agentId: string; how: "queued" | "steered" }

export interface Message {
  id: string;
  spaceId: string;
  entityId: string;
  seq: number;
  status: "open" | "final";
  role: "user" | "assistant";
  parts: Part[];
  createdAt: string;
  updatedAt: string;
  runId?: string;
  mentions: string[];
  replyTo?: string;
  attachments: string[];
  clientMessageId?: string;
  deleted?: boolean;
  woke?: Woke[];
}

export interface Trigger { type: string; spaceId?: string; messageId?: string; entityId?: string }

export type WaitsFor = "answer" | "approval" | "callback" | "reply" | "child_run";

export interface PendingCall {
  toolCallId: string;
  toolName: string;
  args?: Json;
  spaceIds: string[];
  waitsFor?: WaitsFor;
  asksPeople: boolean;
}

export interface RunError { code: string; message: string }

export interface Run {
  id: string;
  agentId: string;
  status: RunStatus;
  trigger: Trigger;
  rootRunId: string;
  createdAt: string;
  parentCallId?: string;
  pendingToolCalls: PendingCall[];
  error?: RunError;
  usage?: Usage;
  endedAt?: string;
  shownIn: string[];
  /** The agent whose run started this one. */
  startedBy?: string;
}

export interface Space {
  id: string;
  name: string;
  createdAt: string;
  wake: "none" | "all";
  flow: "open" | "guarded";
  adminAgentId?: string;
  role?: Role;
  unread?: number;
  lastSeq?: number;
}

export interface MessagePage { messages: Message[]; position: string; hasMore: boolean }
export interface Found { spaceId: string; message: Message }

export type Visibility = "hidden" | "status" | "result" | "full";

export interface InspectedStep {
  number: number;
  text: string;
  usage: Usage;
  startedAt?: string;
  endedAt?: string;
  /** The model still writes it. */
  isOpen?: boolean;
}

export interface InspectedCall {
  toolCallId: string;
  toolName: string;
  step: number;
  index: number;
  status: Exclude<PartStatus, "streaming">;
  visibility: Visibility;
  args?: Json;
  result?: Json;
  error?: string;
  /** Its route; `places` are the parts that were opened there. */
  spaceIds: string[];
  places: { spaceId: string; messageId: string; partId: string }[];
  targetEntityId?: string;
  activeSpaceId?: string;
  waitsFor?: PendingCall["waitsFor"];
  answeredBy?: string;
  answeredAt?: string;
  reason?: string;
  startedAt?: string;
  endedAt?: string;
  /** The run that it started, which is among the runs of the inspection. */
  childRunId?: string;
}

export interface Cost { amount: number; currency: "USD" }

export interface InspectedRun {
  run: Run;
  agentName: string;
  steps: InspectedStep[];
  calls: InspectedCall[];
  usage: Usage;
  cost?: Cost;
}

/** One of an agent's limits; null: there is none. */
export interface Bound { name: string; used: number; limit: number | null }

/** A run as its agent's owner sees it, with those that it called, at any depth, oldest first. */
export interface Inspection {
  run: Run;
  runs: InspectedRun[];
  spaces: { spaceId: string; name: string }[];
  bounds: Bound[];
  usage: Usage;
  cost?: Cost;
}
