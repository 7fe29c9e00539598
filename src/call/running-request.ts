import { Linked } from "../internal/linked-set.ts";
import { type CallError, mapError, type Progress } from "../operation/index.ts";
import type { CallBudget, IncomingCall } from "../registry/index.ts";
import type { CallRequested, Reply } from "../transport/transport.ts";
import { isShared } from "./call-budgets.ts";
import { type RunningHost, sendError, sendProgress, textOrNothing } from "./running.ts";

/** Far above every limit, and far below where adding one stops working. */
const deepest = 2 ** 30;

/** A request that runs for somebody outside: who asked, and what it may cost. */
export abstract class RunningRequest extends Linked implements IncomingCall {
  // Assigned rather than defined as class fields, to be cheap to make: there is one for each call.
  declare readonly depth: number;
  declare budget: CallBudget | undefined;
  declare protected readonly host: RunningHost;
  declare protected readonly frame: CallRequested;
  declare protected readonly reply: Reply;
  declare protected isOpen: boolean;

  constructor(host: RunningHost, frame: CallRequested, reply: Reply) {
    super();
    const { depth } = frame;
    this.depth = depth === undefined ? 0 : toDepth(depth);
    // Whoever names a root says how deep it is, too; all others are spared the look.
    this.budget = depth === undefined ? undefined : joinBudget(host, frame);
    this.host = host;
    this.frame = frame;
    this.reply = reply;
    this.isOpen = true;
    host.running += 1;
    host.open.add(this);
  }

  get isSubscription(): boolean {
    return this.frame.credit !== undefined;
  }

  get operationId(): string {
    return this.frame.operationId;
  }

  /** Ends the request from this side: the caller gets the error, and the handler's signal fires. */
  abstract endWith(error: CallError): void;

  get requestId(): string {
    return this.frame.requestId;
  }

  get isRemote(): boolean {
    return this.host.isRemote || this.frame.isRemote === true;
  }

  get parentRequestId(): string | undefined {
    return textOrNothing(this.frame.parentRequestId);
  }

  openBudget(): CallBudget {
    this.budget ??= this.host.budgets.create();
    return this.budget;
  }

  shareBudget(): string {
    const { budget, frame, host } = this;
    const root = textOrNothing(frame.rootRequestId) ?? frame.requestId;
    // A handler that runs on after its call has ended shares nothing: nobody would clear it away.
    if (this.isOpen && (budget === undefined || !isShared(budget))) this.budget = host.budgets.share(root, budget);
    return root;
  }

  reportProgress(progress: Progress): void {
    if (this.isOpen) sendProgress(this.reply, this.frame, progress);
  }

  protected tellFailure(error: unknown): void {
    sendError(this.reply, this.frame, mapError(error));
  }

  /** Nothing is sent any more, except what ends it. True for the first to say so. */
  protected leave(): boolean {
    if (!this.isOpen) return false;
    const { host, budget } = this;
    this.isOpen = false;
    this.unlink();
    if (budget !== undefined) host.budgets.leave(budget);
    host.running -= 1;
    if (host.running === 0) host.onIdle();
    return true;
  }
}

function joinBudget(host: RunningHost, { rootRequestId }: CallRequested): CallBudget | undefined {
  return typeof rootRequestId === "string" ? host.budgets.join(rootRequestId) : undefined;
}

/** What a frame claims can only make things stricter. */
function toDepth(depth: unknown): number {
  return Number.isSafeInteger(depth) ? Math.min(Math.max(depth as number, 0), deepest) : 0;
}
