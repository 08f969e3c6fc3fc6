// Texts on their way to the clipboard.

import { useEffect, useState } from "react";

export const COPIED = "Copied";
const TOLD_MS = 2000;

/** What became of it, for a moment, and what copies it. */
export function useCopy(text: string): [string, () => void] {
  const [told, setTold] = useState("");
  useEffect(() => {
    if (!told) return;
    const timer = setTimeout(() => setTold(""), TOLD_MS);
    return () => clearTimeout(timer);
  }, [told]);

  async function copy() {
    // Without a secure context there is no clipboard.
    const isDone = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    setTold(isDone ? COPIED : "Not allowed");
  }
  return [told, () => void copy()];
}
