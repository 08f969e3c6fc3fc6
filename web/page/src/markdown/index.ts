export { Markdown } from "./Markdown.tsx";
export { SafeLink } from "./SafeLink.tsx";
