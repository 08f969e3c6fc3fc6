export { RoomfulProvider, ToolPart, useLine, useLive, useMyself, useSpace, useSpaces } from "./provider.tsx";
export type { RoomfulProviderProps, SpaceHandle } from "./provider.tsx";
export { ToolCall, useToolResult } from "./tools.tsx";
export type { ToolAnswering, ToolComponent, ToolProps, ToolRegistry, ToolResult } from "./tools.tsx";
