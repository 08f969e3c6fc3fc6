// A chat of the AI SDK (5, 6 or 7), as useChat has one.
import { answer, note } from "./lines.mjs";

const settings = JSON.parse(process.argv[2]);
const sdk = await import(`ai${settings.version}`);
const { AbstractChat, DefaultChatTransport } = sdk;

class State {
  status = "ready";
  error = undefined;
  messages;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
    this.#tell();
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
    this.#tell();
  };
  snapshot = (value) => structuredClone(value);
  #tell() {
    if (settings.notes) note("messages", this.messages);
  }
}

class Chat extends AbstractChat {
  constructor({ messages, ...init }) {
    super({ ...init, state: new State(messages) });
  }
}

const headers = { authorization: `Bearer ${settings.token}` };
const query = new URLSearchParams({ sdk: settings.version, ...settings.query });
const api = `${settings.url}/api/chat?${query}`;
const WHEN = {
  tools: sdk.lastAssistantMessageIsCompleteWithToolCalls,
  approvals: sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
};

let requests = 0;
const counting = (...given) => {
  requests += 1;
  return fetch(...given);
};

const chat = new Chat({
  id: settings.chat,
  messages: settings.messages ?? [],
  transport: new DefaultChatTransport({ api, headers, body: settings.body, fetch: counting }),
  sendAutomaticallyWhen: WHEN[settings.automatic],
  onToolCall: ({ toolCall }) => {
    note("toolCall", toolCall);
    const output = settings.outputs?.[toolCall.toolName];
    if (output !== undefined) {
      void chat.addToolResult({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output });
    }
  },
  onData: (data) => note("data", data),
  onError: (error) => note("error", String(error.message ?? error)),
  onFinish: ({ message, isAbort, isDisconnect, isError, finishReason }) =>
    note("finish", { id: message.id, isAbort, isDisconnect, isError, finishReason }),
});

const state = () => ({ status: chat.status, error: chat.error?.message, messages: chat.messages, requests });
const done = async (work) => {
  await work;
  return state();
};

answer({
  send: ({ text, ...more }) => done(chat.sendMessage({ text, ...more })),
  resume: () => done(chat.resumeStream()),
  regenerate: () => done(chat.regenerate()),
  stop: () => done(chat.stop()),
  output: (given) => done(chat.addToolResult(given)),
  approve: (given) => done(chat.addToolApprovalResponse(given)),
  submit: () => done(chat.sendMessage()),
  state,
});
