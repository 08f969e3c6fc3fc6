// Who is at this window. A cookie says it, which no script can read; in a demo each window can be somebody
// else, so its token lives as long as the window and goes into a header.

import { Client, type Entity } from "@roomful/client";

export interface DemoPerson { id: string; name: string; token: string; about?: string }
export interface Door { client: Client; me: Entity | null; people: DemoPerson[] }

const KEPT = "roomful.demo.token";

export async function lookIn(): Promise<Door> {
  const asked = new URLSearchParams(location.search).get("as");
  const first = await ask(asked ? null : sessionStorage.getItem(KEPT));
  const person = first.people.find(({ id }) => id === asked);
  if (!person) return first;
  history.replaceState(null, "", location.pathname + location.hash);
  return comeInAs(person);
}

export async function comeInAs(person: DemoPerson): Promise<Door> {
  sessionStorage.setItem(KEPT, person.token);
  return ask(person.token);
}

export async function signIn(token: string): Promise<Door> {
  await new Client().ask("POST", "/api/session", { token });
  return ask(null);
}

export async function signOut({ client }: Door): Promise<Door> {
  const isDemo = sessionStorage.getItem(KEPT) !== null;
  sessionStorage.removeItem(KEPT);
  if (!isDemo) await client.ask("DELETE", "/api/session");
  history.replaceState(null, "", location.pathname);
  return ask(null);
}

async function ask(token: string | null): Promise<Door> {
  const client = new Client(token ? { token } : {});
  const seen = await client.ask<{ me?: Entity; people: DemoPerson[] }>("GET", "/api/door");
  return { client, me: seen.me ?? null, people: seen.people };
}
