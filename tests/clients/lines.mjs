// A client in a node process: commands come in as lines of JSON, answers and notes go out as such.
import { createInterface } from "node:readline";

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

/** Tells the test of something that happened. */
export const note = (name, data = null) => say({ note: name, data });

/** Answers every command with what its function gives, or with what it throws. */
export function answer(commands) {
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const { id, name, args } = JSON.parse(line);
    try {
      say({ id, result: (await commands[name](args)) ?? null });
    } catch (error) {
      say({ id, error: String(error?.stack ?? error) });
    }
  });
  note("ready");
}
