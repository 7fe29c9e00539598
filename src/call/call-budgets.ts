import type { CallBudget } from "../registry/index.ts";

/** One budget for all calls that one external request causes. */
interface SharedBudget extends CallBudget {
  readonly root: string;
  /** Number of these calls that are running in this process. */
  users: number;
}

/**
 * Limits how many further calls an incoming call may cause. A call that returns to this process through peers carries
 * the id of its root call and uses its budget. A caller that sends the root id of another call only reduces its own
 * budget.
 */
export class CallBudgets {
  readonly #allowed: number;
  readonly #shared = new Map<string, SharedBudget>();

  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  create(): CallBudget {
    return { allowed: this.#allowed, callsLeft: this.#allowed };
  }

  /** Returns the budget of the calls that `root` has caused, for one more call. */
  join(root: string): CallBudget {
    const budget = this.share(root, undefined);
    budget.callsLeft -= 1;
    return budget;
  }

  /** Registers the root call's budget so that its nested remote calls can share it. */
  share(root: string, own: CallBudget | undefined): CallBudget {
    const left = own?.callsLeft ?? this.#allowed;
    const known = this.#shared.get(root);
    const budget = known ?? { allowed: this.#allowed, callsLeft: left, root, users: 0 };
    if (known === undefined) this.#shared.set(root, budget);
    budget.callsLeft = Math.min(budget.callsLeft, left);
    budget.users += 1;
    return budget;
  }

  /** Counts a call of this budget that has ended. */
  leave(budget: CallBudget): void {
    if (!isShared(budget)) return;
    budget.users -= 1;
    if (budget.users === 0) this.#shared.delete(budget.root);
  }
}

/** Whether other calls can find the budget. */
export function isShared(budget: CallBudget): budget is SharedBudget {
  return "users" in budget;
}
