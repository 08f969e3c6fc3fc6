// The real AG-UI client. Every event it accepts, and whatever it warns of, is noted.
import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import { answer, note } from "./lines.mjs";

const { url, token, agentId, threadId } = JSON.parse(process.argv[2]);
console.warn = (...words) => note("warning", words.join(" "));

/** Its `connect` is the thread's replay. */
class RoomfulAgent extends HttpAgent {
  query = "";

  connect() {
    const path = `/ag-ui/${encodeURIComponent(this.threadId)}/replay${this.query}`;
    const headers = { ...this.headers, Accept: "text/event-stream" };
    return transformHttpEventStream(runHttpRequest(() => fetch(url + path, { headers })));
  }
}

const agent = new RoomfulAgent({
  url: `${url}/ag-ui/${agentId}`,
  headers: { Authorization: `Bearer ${token}` },
  threadId,
});
agent.subscribe({
  onEvent: ({ event }) => note("event", event),
  onMessagesChanged: ({ messages }) => note("messages", messages),
});

const state = () => ({ messages: agent.messages, interrupts: agent.pendingInterrupts });

async function state_after(running) {
  try {
    await running;
    return state();
  } catch (error) {
    return { ...state(), error: String(error) };
  }
}

answer({
  send: ({ text, id, ...parameters }) => {
    agent.addMessage({ id, role: "user", content: text });
    return state_after(agent.runAgent(parameters));
  },
  add: (message) => agent.addMessage(message),
  run: (parameters) => state_after(agent.runAgent(parameters)),
  replay: ({ query = "" }) => {
    agent.query = query;
    return state_after(agent.connectAgent());
  },
  state,
});
