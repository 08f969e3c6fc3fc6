// What the web page has of a space: its own fold, fed by the space's stream.
import { createParser } from "eventsource-parser";

import { SpaceView } from "../../web/client/src/fold.ts";
import { answer, note } from "./lines.mjs";

const { url, token, space } = JSON.parse(process.argv[2]);
const view = new SpaceView();

async function follow() {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/api/spaces/${space}/stream?args=ops`, { headers });
  const parser = createParser({
    onEvent: ({ event, data: text }) => {
      const data = JSON.parse(text);
      if (event === "snapshot") view.load(data.messages, data.members, data.runs);
      else view.apply(event, data);
      note(event);
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body) parser.feed(decoder.decode(bytes, { stream: true }));
}

void follow();
answer({ messages: () => view.list() });
