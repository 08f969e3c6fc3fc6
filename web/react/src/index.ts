export * from "./tools.tsx";
