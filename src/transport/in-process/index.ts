export { createEventTargetTransport, EventTargetTransport } from "./event-target.ts";
export { type EventTargetLike, isEventTargetLike } from "./event-target-like.ts";
export { createInProcessTransport, InProcessBus, InProcessTransport } from "./in-process.ts";
export { LocalRequest, toResponded } from "./local-request.ts";
