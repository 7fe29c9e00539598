import { type Linked, LinkedSet, type Occupancy } from "./linked-set.ts";
import { maxTimerDelay } from "./timers.ts";

/** An object that is notified when its deadline has passed. */
export interface Expiring extends Linked {
  /** Called once, at the deadline or a few milliseconds later, unless it was unlinked before. */
  expire(): void;
}

/** Deadlines within one slot fire together. */
const slotMilliseconds = 8;

/** Counts the slots with a deadline. A pending deadline keeps the process alive, because its caller waits for the outcome. */
const occupancy: Occupancy = { filledSets: 0, isNotified: false, onEmpty: releaseSoon };

const slots = new Map<number, LinkedSet<Expiring>>();
let timer: ReturnType<typeof setTimeout> | undefined;
let timerSlot = Number.POSITIVE_INFINITY;

/** Returns monotonic milliseconds, so that changes of the system clock do not move deadlines. */
export function monotonicNow(): number {
  return performance.now();
}

/** The wall clock minus the monotonic clock, and the wall clock at the time of that measurement. */
let offset = 0;
let offsetTaken = Number.NEGATIVE_INFINITY;
/** In ms. When the wall clock has moved by more than this, in either direction, the offset is measured again. */
const maxOffsetAge = 50;

/** Converts milliseconds since the epoch to {@link monotonicNow}, given the wall clock; exact to 50 ms. */
export function toMonotonic(time: number, wallNow: number): number {
  if (globalThis.setTimeout !== armedWith) forgetTimer();
  // Reading a clock is a large part of the cost of a guarded call, so the second clock is read a few times per second.
  const age = wallNow - offsetTaken;
  if (!(age >= 0 && age < maxOffsetAge)) {
    offset = wallNow - monotonicNow();
    offsetTaken = wallNow;
  }
  return time - offset;
}

/** The `setTimeout` that created the timer. Tests that fake timers replace it, and the timer is lost. */
let armedWith: typeof globalThis.setTimeout | undefined;

function forgetTimer(): void {
  armedWith = globalThis.setTimeout;
  offsetTaken = Number.NEGATIVE_INFINITY;
  timerSlot = Number.POSITIVE_INFINITY;
  lastSlot = Number.NaN;
  occupancy.isNotified = false;
}

let lastSlot = Number.NaN;
let lastMembers = new LinkedSet<Expiring>(occupancy);

/**
 * Calls `waiting.expire()` once `at` (by {@link monotonicNow}) has passed. Many deadlines share one timer, because a
 * timer for each would cost several times as much as the call. `waiting.unlink()` cancels the deadline.
 */
export function expireAt(waiting: Expiring, at: number): void {
  const slot = Math.ceil(at / slotMilliseconds);
  if (slot !== lastSlot) {
    lastMembers = membersOf(slot);
    lastSlot = slot;
  }
  lastMembers.add(waiting);
  if (holdsProcess) return;
  holdsProcess = true;
  // In browsers, timers are numbers.
  if (typeof timer === "object") timer.ref();
}

function membersOf(slot: number): LinkedSet<Expiring> {
  let members = slots.get(slot);
  if (members === undefined) {
    if (slots.size >= sweepAt) sweep();
    members = new LinkedSet<Expiring>(occupancy);
    slots.set(slot, members);
  }
  if (slot < timerSlot) schedule(slot);
  return members;
}

const minSlotsToSweep = 256;
let sweepAt = minSlotsToSweep;

/** Removes slots without deadlines before they are due. Runs rarely, so that the cost per slot is low. */
function sweep(): void {
  for (const [slot, members] of slots) if (members.isEmpty) slots.delete(slot);
  sweepAt = Math.max(minSlotsToSweep, 2 * slots.size);
}

function schedule(slot: number): void {
  clearTimeout(timer);
  timerSlot = slot;
  timer = setTimeout(fire, Math.min(Math.max(slot * slotMilliseconds - monotonicNow(), 0), maxTimerDelay));
  holdsProcess = true; // A deadline is pending, or is added immediately after this.
}

/** Whether the timer keeps the process alive. */
let holdsProcess = false;

/**
 * Allows the process to end, unless a deadline is added in this turn of the event loop: switching costs as much as a call,
 * and calls tend to follow each other.
 */
function releaseSoon(): void {
  if (typeof timer !== "object") return;
  if (typeof setImmediate !== "function") return release();
  occupancy.isNotified = true;
  setImmediate(release);
}

function release(): void {
  occupancy.isNotified = false;
  if (occupancy.filledSets > 0) return;
  holdsProcess = false;
  if (typeof timer === "object") timer.unref();
}

function fire(): void {
  const now = monotonicNow();
  lastSlot = Number.NaN;
  timerSlot = Number.POSITIVE_INFINITY;
  let nextSlot = Number.POSITIVE_INFINITY;
  const due: LinkedSet<Expiring>[] = [];
  for (const [slot, members] of slots) {
    if (members.isEmpty) slots.delete(slot);
    else if (slot * slotMilliseconds <= now) {
      slots.delete(slot);
      due.push(members);
    } else if (slot < nextSlot) nextSlot = slot;
  }
  if (nextSlot !== Number.POSITIVE_INFINITY) schedule(nextSlot);
  for (const members of due) {
    for (let waiting = members.shift(); waiting !== undefined; waiting = members.shift()) waiting.expire();
  }
}
