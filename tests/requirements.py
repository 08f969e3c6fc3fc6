"""What Roomful promises, clause by clause: a test that drives a clause carries its id."""

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Requirement:
    id: str
    text: str


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as driving these clauses through a public interface."""
    return pytest.mark.requirement(*ids)


REQUIREMENTS = (
    # Composite messages, visibility, routing
    Requirement(
        "C-01",
        "A run makes one composite message per space, whatever the dialect. Its text and tool parts gather "
        "there in call order, so a reader sees one bubble.",
    ),
    Requirement(
        "C-02",
        "A stored message has id, spaceId, entityId, runId, seq and parts. A part is a text with its text, "
        "or a tool_call with toolName, toolCallId, args, result and status.",
    ),
    Requirement(
        "C-03",
        "Calls to different spaces make one composite message in each of them.",
    ),
    Requirement(
        "C-04",
        "sendSpaceMessage adds a text part that grows character by character while the model writes the "
        "argument. No tool card shows.",
    ),
    Requirement(
        "C-05",
        "A client tool adds a tool_call part whose result is null until a person answers.",
    ),
    Requirement(
        "C-06",
        "sendSpaceMessage with a mention closes the open composite message of that space, then starts the "
        "mentioned agent's run, which has a message of its own.",
    ),
    Requirement(
        "C-07",
        "A hidden call shows no part, a minimal one only its name and its status from calling to done, a "
        "full one its name, args and result. The server enforces it: hidden data never leaves it.",
    ),
    Requirement(
        "C-08",
        "Server tools are hidden by default, client tools are always visible, built-in tools are always "
        "hidden and sendSpaceMessage shows as its text. A config that contradicts this is refused.",
    ),
    Requirement(
        "C-09",
        "The schema built for the model has optional targetSpaceId and targetSpaceIds on every routable "
        "tool, never on sendSpaceMessage or a hidden built-in. The author's schema stays as it was.",
    ),
    Requirement(
        "C-10",
        "targetSpaceId and targetSpaceIds are removed before the tool executes.",
    ),
    Requirement(
        "C-11",
        "A call without a target goes to the trigger space, with one target to that space, with several to "
        "the composite message of each of those spaces.",
    ),
    Requirement(
        "C-12",
        "A client tool routed to another space asks the members of that space: run.waiting_tool goes there, "
        "and their answer resumes the run.",
    ),
    Requirement(
        "C-13",
        "Events reach exactly the spaces that the route names, in order: text deltas, tool input, more "
        "text, then run.completed, which finalizes the messages.",
    ),
    Requirement(
        "C-14",
        "One run triggered in A says a text in A, shows an approval form in Finance, is approved by a "
        "Finance member and says the result in A.",
    ),
    Requirement(
        "C-15",
        "Each row of the table of which space sees what holds.",
    ),
    Requirement(
        "C-16",
        "A part with targetEntityId is sent to that member and to nobody else.",
    ),
    Requirement(
        "C-17",
        "delegateToAgent ends its own run as canceled, without a word. The new run has the original trigger "
        "and is not a child of the first.",
    ),
    # Display tools
    Requirement(
        "D-01",
        "displayTool: true injects an optional targetSpaceId as the first parameter, described as to be "
        "provided first. Absent or false, it injects nothing.",
    ),
    Requirement(
        "D-02",
        "With a target a display call streams to that space and is stored; without one it runs silently. A "
        "client tool without a target falls back to the active space, and with no space at all fails at "
        "once with a clear error instead of waiting unseen.",
    ),
    Requirement(
        "D-03",
        "targetSpaceId is stripped before execution and never takes part in {{variable}} interpolation.",
    ),
    Requirement(
        "D-04",
        "A server tool sends its space tool-call.start, tool-input-delta any number of times, tool-call, "
        "tool-call.complete (tool-call.result with ?events=v1) and smartSpace.message, in every dialect. "
        "That last message carries the settled part only.",
    ),
    Requirement(
        "D-05",
        "A client tool sends its space tool-call.start, tool-input-delta any number of times, tool-call and "
        "a waiting smartSpace.message; after the answer tool-call.complete (tool-call.result with "
        "?events=v1) and a complete smartSpace.message, in every dialect.",
    ),
    Requirement(
        "D-06",
        "A stored tool part has toolCallId, toolName, args without routing fields, result, status, customUI "
        "and runId.",
    ),
    Requirement(
        "D-07",
        "An image generator works with a target space and without one.",
    ),
    Requirement(
        "D-08",
        "An approval form works with a target space and without one.",
    ),
    Requirement(
        "D-09",
        "An HTTP request tool works with a target space and without one.",
    ),
    Requirement(
        "D-10",
        "A pass-through chart works with a target space and without one.",
    ),
    Requirement(
        "D-11",
        "display.customUI names the client's component, whether or not displayTool is set.",
    ),
    Requirement(
        "D-12",
        "One run shows a banner in Design, an approval in Finance and the answer in the space of the one "
        "who asked.",
    ),
    Requirement(
        "D-13",
        "Tool messages are history: another agent's readSpaceMessages sees their input and output.",
    ),
    Requirement(
        "D-14",
        "POST /api/runs/{runId}/tool-results stores the result, updates the message, emits the result and "
        "resumes the run.",
    ),
    Requirement(
        "D-15",
        "The agent's membership in the target space is checked before anything is emitted. A call that "
        "names a space the agent is not in fails before execution, with an error the model can read.",
    ),
    Requirement(
        "D-16",
        "The run's own stream carries every event, wherever the call is shown.",
    ),
    Requirement(
        "D-17",
        "A React SDK offers live partial args, useToolResult and a registry of tool components.",
    ),
    Requirement(
        "D-18",
        "Every execution type has a page of documentation whose examples are run.",
    ),
    # Bus and chat tool
    Requirement(
        "B-01",
        "A MessageEnvelope has id, conversation_id, sender, recipient, type, content, metadata and "
        "created_at, which is UTC ISO in JSON.",
    ),
    Requirement(
        "B-02",
        "A Bus has publish(topic, BusMessage) that returns an id, read(topic, last_id, limit) and "
        "read_blocking; a BusMessage has topic, payload and id. The in-memory bus and Redis Streams pass "
        "one contract suite.",
    ),
    Requirement(
        "B-03",
        "chat_send(recipient, content, conversation_id=None) is an OpenAI Agents SDK function tool, thin "
        "over send_message.",
    ),
    Requirement(
        "B-04",
        "A recipient is chat:{conversation_id} or agent:{Name} with a non-empty suffix, and content is "
        "non-empty after trimming. Anything else is a ValueError with a clear sentence.",
    ),
    Requirement(
        "B-05",
        "For an agent recipient the conversation id is the explicit one, else the run context's, else "
        'CHAT_TOOL_CONVERSATION_ID, else ValueError("conversation_id not available for agent recipient").',
    ),
    Requirement(
        "B-06",
        "The sender is agent:{AGENT_NAME}, or agent:unknown without that variable.",
    ),
    Requirement(
        "B-07",
        "An envelope is always published to chat:{conversation_id}, and for an agent recipient to "
        "chat:{AgentName} too. The answer is ok, envelope_id and published_to.",
    ),
    Requirement(
        "B-08",
        "The default bus is Redis at REDIS_URL, made lazily and once. A test can inject another and reset "
        "it.",
    ),
    Requirement(
        "B-09",
        "Topics are chat:{conversation_id}, chat:{agent_name} and stream:{conversation_id}. An agent may "
        "not take the name of an existing conversation, nor a conversation that of an agent.",
    ),
    Requirement(
        "B-10",
        "A space is a conversation: an envelope on its topic becomes a message in the space, and the "
        "space's events appear on its stream topic, so an outside agent takes part through chat_send alone.",
    ),
    # Tool system
    Requirement(
        "T-01",
        "The execution types are gateway, external, space and internal; basic, request, ai-agent, "
        "image-generator, compute, waiting and prebuilt are mapped onto them.",
    ),
    Requirement(
        "T-02",
        "Visibility is visible, hidden or result-only, each execution type with its stated default. A "
        "result-only call shows nothing until its result.",
    ),
    Requirement(
        "T-03",
        "With no active space a tool runs, nothing is posted and a warning is logged; a client tool fails. "
        "The active space starts as the trigger space, and plans and service calls start with none.",
    ),
    Requirement(
        "T-04",
        "A tool config has name, description, inputSchema, executionType, visibility, execution and "
        "display.customUI. Known older spellings are accepted; an unknown or contradicting field is refused "
        "by name; an image's url is a blob url; a built schema contains its documented example.",
    ),
    Requirement(
        "T-05",
        "HTTP execution takes url, method, headers with ${env.X}, body with {{input.x}} and timeout.",
    ),
    Requirement(
        "T-06",
        "Sub-agent execution takes an inline agentConfig, includeContext and timeout.",
    ),
    Requirement(
        "T-07",
        "Image generation takes provider, model, size and quality.",
    ),
    Requirement(
        "T-08",
        "Compute evaluates an expression (operation: evaluate) over arithmetic and data in a sandboxed "
        "language, never Python.",
    ),
    Requirement(
        "T-09",
        "An external webhook takes url, method, headers and timeout, is signed, and gives its result at "
        "once or later.",
    ),
    Requirement(
        "T-10",
        "A space tool shows a client UI, and the run pauses as waiting_tool.",
    ),
    Requirement(
        "T-11",
        "An internal tool gives a static output and is never shown.",
    ),
    Requirement(
        "T-12",
        "The built-ins are enter_space, send_message, send_reply, read_messages with an offset, stop_run, "
        "set_goals, delete_goals, set_memories, delete_memories, set_plans, delete_plans, get_plans and "
        "get_my_runs.",
    ),
    Requirement(
        "T-13",
        "send_message starts runs for mentioned agents, send_reply resumes their waiting runs instead. "
        "send_message with wait pauses the run until the reply or its deadline.",
    ),
    Requirement(
        "T-14",
        "A visible tool call is structured, not text: nobody can reply to it, and its content is not "
        "searched for mentions.",
    ),
    Requirement(
        "T-15",
        "tool-call.start, tool-input-delta, tool-call.complete and tool-call.error go to the active space.",
    ),
    Requirement(
        "T-16",
        "A display-only tool continues at once, an interactive one pauses the run.",
    ),
    Requirement(
        "T-17",
        "MCP servers given as name, url, transport and allowedTools are loaded at build, their tools named "
        "server_tool and hidden by default. visibility and approval can be set per server and per tool.",
    ),
    Requirement(
        "T-18",
        "One pipeline serves all tools: configure, build, execute, post. Nothing branches on a tool's name.",
    ),
    # Delegation and recall
    Requirement(
        "R-01",
        "A delegation runs the sub-agent in a thread of its own. The parent's tool result carries text, "
        "subAgentThreadId and subAgentResourceId.",
    ),
    Requirement(
        "R-02",
        "Live, the parent's stream has the sub-agent's calls as they happen, as data-tool-agent with id, "
        "status, text, toolCalls, toolResults, steps, finishReason and usage.",
    ),
    Requirement(
        "R-03",
        "GET /api/chat?threadId&resourceId returns UI messages with those parts right after their "
        "tool-agent-* part. The owner comes from the caller's identity; resourceId can only narrow.",
    ),
    Requirement(
        "R-04",
        "Restored parts equal the final streamed ones: also for two delegations to one agent, to different "
        "agents, nested at any depth, with failed inner calls, and on a reload while it still runs.",
    ),
    Requirement(
        "R-05",
        "An inner call's isComplete says whether a result with its toolCallId exists.",
    ),
    Requirement(
        "R-06",
        "All delegations of a page are read in one batch, whatever their number.",
    ),
    Requirement(
        "R-07",
        "Imported recordings of another system equal what it streamed in calls, arguments, results, errors, "
        "order and trimmed text. What it never stored (part id, usage, finish reason) is null, never "
        "invented.",
    ),
    # The system as a whole
    Requirement(
        "X-01",
        "Entities are people and agents, services are API callers, spaces have members. Every read, stream, "
        "post and answer checks membership.",
    ),
    Requirement(
        "X-02",
        'Runs start from a space message, a mention, a plan (cron, at, "in 2 hours"), a service call to '
        "POST /api/agents/{id}/trigger or a parent call.",
    ),
    Requirement(
        "X-03",
        "A run is queued, running, waiting_tool, waiting_reply, completed, failed or canceled. Cancel is "
        "final and reaches children; a disconnect is not a cancel.",
    ),
    Requirement(
        "X-04",
        "An agent's memories, goals and plans last across runs and appear in its context, with the trigger, "
        "its spaces, the recent history and its active runs.",
    ),
    Requirement(
        "X-05",
        "There are SSE streams per space, per run and per person. Last-Event-ID resumes, a joiner gets a "
        "snapshot and then the tail, and a reload equals live at every cut.",
    ),
    Requirement(
        "X-06",
        "Loops end: depth, runs per root, calls per run and rate are bounded, and hitting a bound is "
        "visible in the space.",
    ),
    Requirement(
        "X-07",
        "Any model provider serves (OpenAI-compatible, Anthropic, Google, local), and so does a scripted "
        "one that needs no key.",
    ),
    Requirement(
        "X-08",
        "Two or more processes share Postgres and Redis, any worker resumes any run, and kill -9 loses "
        "nothing that was acknowledged.",
    ),
    # Rules of safe streaming
    Requirement(
        "S-01",
        "Routing keys come first, and nothing is emitted before the route is final: when another key "
        "follows a complete routing key (null counts), when the object closes, or from the start for an "
        "agent of one space or a tool without routing parameters. A late or repeated routing key fails the "
        "call before execution, in words the model can act on.",
    ),
    Requirement(
        "S-02",
        "Partial args are a preview. A form accepts answers only after its input is complete.",
    ),
    Requirement(
        "S-03",
        "The database is the record: losing the bus costs latency, never a message.",
    ),
    Requirement(
        "S-04",
        "The space of a call is bound when the call opens; enter_space takes effect in call order.",
    ),
)

# The clauses that no test drives yet. It only shrinks.
UNMET: frozenset[str] = frozenset()

DECISIONS: dict[str, tuple[str, ...]] = {
    "C-01": ("0005-where-the-documents-disagree", "0024-one-message-of-a-run"),
    "C-06": ("0013-a-text-and-what-it-leads-to",),
    "C-08": ("0005-where-the-documents-disagree",),
    "C-09": ("0005-where-the-documents-disagree",),
    "C-11": ("0022-when-a-route-is-final",),
    "C-12": ("0010-one-way-to-wait",),
    "C-16": ("0005-where-the-documents-disagree",),
    "C-17": ("0005-where-the-documents-disagree",),
    "D-01": ("0005-where-the-documents-disagree",),
    "D-02": ("0005-where-the-documents-disagree",),
    "D-04": ("0005-where-the-documents-disagree",),
    "D-06": ("0005-where-the-documents-disagree",),
    "D-11": ("0005-where-the-documents-disagree",),
    "D-14": ("0010-one-way-to-wait",),
    "D-15": ("0005-where-the-documents-disagree", "0022-when-a-route-is-final"),
    "D-17": ("0018-the-page",),
    "B-09": ("0005-where-the-documents-disagree",),
    "T-01": ("0004-one-tool-model", "0005-where-the-documents-disagree"),
    "T-03": ("0005-where-the-documents-disagree",),
    "T-04": ("0005-where-the-documents-disagree",),
    "T-05": ("0006-one-outbound-client",),
    "T-08": ("0007-compute-in-a-child",),
    "T-09": ("0006-one-outbound-client", "0010-one-way-to-wait"),
    "T-10": ("0010-one-way-to-wait",),
    "T-12": ("0005-where-the-documents-disagree",),
    "T-13": ("0013-a-text-and-what-it-leads-to",),
    "T-14": ("0005-where-the-documents-disagree",),
    "T-15": ("0005-where-the-documents-disagree",),
    "T-17": ("0009-mcp-tools", "0020-what-was-agreed-to"),
    "T-18": ("0004-one-tool-model",),
    "R-01": ("0012-a-delegation-is-a-run",),
    "R-02": ("0012-a-delegation-is-a-run", "0015-faces"),
    "R-03": ("0015-faces", "0005-where-the-documents-disagree"),
    "R-04": ("0012-a-delegation-is-a-run",),
    "R-07": ("0005-where-the-documents-disagree",),
    "X-02": ("0011-plans",),
    "X-03": ("0024-one-message-of-a-run",),
    "X-05": ("0014-several-gateways",),
    "X-07": ("0003-own-openai-adapter",),
    "X-08": ("0002-plain-sql-two-drivers", "0014-several-gateways", "0023-what-a-crash-leaves"),
    "S-01": ("0022-when-a-route-is-final",),
    "S-02": ("0022-when-a-route-is-final",),
    "S-03": ("0014-several-gateways",),
    "S-04": ("0022-when-a-route-is-final",),
}
"""Why a clause is met the way it is, by the names of pages in `docs/decisions/`."""
