/** Milliseconds between heartbeats on a bus. Short, so that a run of seconds sees many of them. */
export const busHeartbeat = 500;
/** The same on WebSockets. */
export const socketHeartbeat = 500;
/** The longest deadline of a call, in ms: what a run waits for in the end. */
export const longestDeadline = 4_000;
/** How many calls one caller may have pending. */
export const mostPending = 100;
/** How long, in ms, closing something may take before it counts as left behind. */
export const closeTimeout = 60_000;
