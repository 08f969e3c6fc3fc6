export * from "./wire.ts";
