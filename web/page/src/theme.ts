// Light, dark, or as the machine has it.

import { useEffect, useState } from "react";

export type Theme = "auto" | "light" | "dark";
const KEPT = "roomful.theme";
const ORDER: Theme[] = ["auto", "light", "dark"];

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(read);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(KEPT, theme);
  }, [theme]);
  return [theme, () => setTheme(ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length]!)];
}

function read(): Theme {
  const kept = localStorage.getItem(KEPT) as Theme;
  return ORDER.includes(kept) ? kept : "auto";
}
