// Signing in: with a token, or as somebody of the demo.

import { useState, type FormEvent } from "react";
import { Avatar } from "./Avatar.tsx";
import { comeInAs, signIn, type DemoPerson, type Door } from "./identity.ts";
import { asSentence } from "./words.ts";

interface Props { people: DemoPerson[]; onEnter(door: Door): void }

export function DoorPage({ people, onEnter }: Props) {
  const [problem, setProblem] = useState("");
  const enter = (coming: Promise<Door>) =>
    void coming.then(onEnter, (error: Error) => setProblem(error.message));
  return (
    <main className="door">
      <img src="/icon.svg" alt="" width="48" height="48" />
      <h1>Roomful</h1>
      <p>People and agents share spaces here. You see agents work, answer what they ask, and stop them.</p>
      {people.length > 0 && <People people={people} choose={(person) => enter(comeInAs(person))} />}
      <TokenForm send={(token) => enter(signIn(token))} isDemo={people.length > 0} />
      {problem && <p role="alert" className="problem">{asSentence(problem)}</p>}
    </main>
  );
}

function People({ people, choose }: { people: DemoPerson[]; choose(person: DemoPerson): void }) {
  return (
    <section aria-labelledby="who">
      <h2 id="who">This is a demo. Who do you want to be?</h2>
      <ul className="people">
        {people.map((person) => (
          <li key={person.id}>
            <button className="person" onClick={() => choose(person)}>
              <Avatar id={person.id} name={person.name} />
              <span><b><span className="hidden">Come in as </span>{person.name}</b>{person.about && <small>{person.about}</small>}</span>
            </button>
          </li>
        ))}
      </ul>
      <p className="hint">Open this page in a second window to be somebody else there.</p>
    </section>
  );
}

function TokenForm({ send, isDemo }: { send(token: string): void; isDemo: boolean }) {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim()) send(token.trim());
  };
  const form = (
    <form onSubmit={submit}>
      <label>
        Your token
        <input type="password" autoComplete="off" required autoFocus={!isDemo} value={token} onChange={(e) => setToken(e.target.value)} />
      </label>
      <button className="primary">Sign in</button>
    </form>
  );
  return isDemo ? <details><summary>Sign in with a token</summary>{form}</details> : form;
}
