// JSON as it was written. A whole number that JavaScript would round stays the text that it was: whoever agrees
// to an amount has to see that amount.

const MAY_BE_ROUNDED = /\d{16}/;
const WHOLE = /^-?\d+$/;

type Reviver = (this: unknown, key: string, value: unknown, context?: { source: string }) => unknown;

const exact: Reviver = (_key, value, context) => {
  const isRounded = typeof value === "number" && !Number.isSafeInteger(value) && context && WHOLE.test(context.source);
  return isRounded ? context.source : value;
};

export function parseJson(text: string): unknown {
  return MAY_BE_ROUNDED.test(text) ? JSON.parse(text, exact as Parameters<typeof JSON.parse>[1]) : JSON.parse(text);
}
