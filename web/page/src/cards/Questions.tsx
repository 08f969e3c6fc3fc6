// What a tool asks in the middle of its work: `{requests: {key: {message, schema}}}`, one field for each property.

import { useState } from "react";
import type { Json } from "@roomful/client";
import type { ToolResult } from "@roomful/react";
import { Problem } from "./Card.tsx";
import { fields, list, numberIn, text, type Fields } from "./read.ts";
import { inWords } from "../words.ts";

interface Field { name: string; label: string; about: string; kind: string; options: unknown[]; isRequired: boolean; preset: string }
interface Request { key: string; message: string; fields: Field[] }
type Filled = Record<string, string>;

export function Questions({ question, answering }: { question: Json; answering: ToolResult }) {
  const { canAnswer, answer } = answering;
  const requests = requestsIn(question);
  const [filled, setFilled] = useState<Filled>({});
  const [problem, setProblem] = useState<string | null>(null);

  function accept() {
    try {
      void answer(Object.fromEntries(requests.map((each) => [each.key, { action: "accept", content: contentOf(each, filled) }])));
      setProblem(null);
    } catch (error) {
      setProblem((error as Error).message);
    }
  }

  const decline = () => void answer(Object.fromEntries(requests.map(({ key }) => [key, { action: "decline" }])));
  return (
    <form className="questions" onSubmit={(event) => { event.preventDefault(); accept(); }}>
      {requests.map((request) => (
        <fieldset className="question" key={request.key} disabled={!canAnswer}>
          <legend dir="auto">{request.message}</legend>
          {request.fields.map((field) => {
            const path = `${request.key}/${field.name}`;
            return <Input key={path} field={field} value={filled[path] ?? field.preset} onChange={(value) => setFilled({ ...filled, [path]: value })} />;
          })}
        </fieldset>
      ))}
      <div className="acts">
        <button type="submit" className="act act-main" disabled={!canAnswer}>Answer</button>
        <button type="button" className="act" disabled={!canAnswer} onClick={decline}>Decline</button>
      </div>
      <Problem>{problem}</Problem>
    </form>
  );
}

function Input({ field, value, onChange }: { field: Field; value: string; onChange(value: string): void }) {
  const name = <span className="field-name" dir="auto">{field.label}{!field.isRequired && <span className="quiet"> (optional)</span>}</span>;
  const about = field.about && <span className="quiet" dir="auto">{field.about}</span>;
  if (field.kind === "boolean") {
    return (
      <label className="tick">
        <input type="checkbox" checked={value === "true"} onChange={(event) => onChange(String(event.target.checked))} />{name}{about}
      </label>
    );
  }
  return (
    <label className="field">
      {name}
      {field.options.length > 0
        ? (
          <select className="input" value={value} required={field.isRequired} onChange={(event) => onChange(event.target.value)}>
            <option value="">Choose…</option>
            {field.options.map((option, index) => <option key={index} value={text(option)}>{text(option)}</option>)}
          </select>
        )
        : <input className="input" dir="auto" type={inputType(field.kind)} step={field.kind === "number" ? "any" : undefined} value={value}
            required={field.isRequired} onChange={(event) => onChange(event.target.value)} />}
      {about}
    </label>
  );
}

const inputType = (kind: string) => (kind === "number" || kind === "integer" ? "number" : "text");

function requestsIn(question: Json): Request[] {
  return Object.entries(fields(fields(question).requests)).map(([key, request]) => {
    const schema = fields(fields(request).schema);
    const required = list(schema.required);
    const made = Object.entries(fields(schema.properties)).map(([name, each]) => fieldOf(name, fields(each), required.includes(name)));
    return { key, message: text(fields(request).message) || inWords(key), fields: made };
  });
}

function fieldOf(name: string, schema: Fields, isRequired: boolean): Field {
  const named = list(schema.oneOf).map((each) => fields(each).const).filter((each) => each !== undefined);
  return {
    name,
    label: text(schema.title) || inWords(name),
    about: text(schema.description),
    kind: text(schema.type),
    options: schema.enum === undefined ? named : list(schema.enum),
    isRequired,
    preset: text(schema.default),
  };
}

/** What was filled in, typed as the schema wants it. Throws with a sentence. */
function contentOf({ key, fields: asked }: Request, filled: Filled): Record<string, Json> {
  const content: [string, Json][] = [];
  for (const field of asked) {
    const said = filled[`${key}/${field.name}`] ?? field.preset;
    if (field.kind === "boolean") content.push([field.name, said === "true"]);
    else if (said !== "") content.push([field.name, typed(field, said)]);
    else if (field.isRequired) throw new Error(`${field.label} needs an answer.`);
  }
  return Object.fromEntries(content);
}

function typed({ kind, label, options }: Field, said: string): Json {
  const option = options.find((each) => text(each) === said);
  if (option !== undefined) return option as Json;
  if (kind === "number" || kind === "integer") {
    const value = numberIn(said);
    if (value === null || (kind === "integer" && !Number.isInteger(value))) throw new Error(`${label} must be a ${kind === "integer" ? "whole " : ""}number.`);
    return value;
  }
  if (kind !== "array" && kind !== "object") return said;
  try {
    return JSON.parse(said) as Json;
  } catch {
    throw new Error(`${label} must be written as JSON.`);
  }
}
