export { createEventTargetTransport } from "./event-target.ts";
export { type EventTargetLike, isEventTargetLike } from "./event-target-state.ts";
export { createInProcessTransport, InProcessBus } from "./in-process.ts";
