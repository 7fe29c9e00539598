import type { CallBudget } from "../registry/index.ts";

/** One budget for all calls that one external request leads to. */
interface SharedBudget extends CallBudget {
  readonly root: string;
  /** How many of these calls are running here. */
  users: number;
}

/**
 * How many calls incoming calls may lead to. A call that comes back to this process through peers names the first one and
 * counts on its budget. A caller that names the root of another call only gets less than a budget of its own.
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

  /** The budget of the calls that `root` has led to, for one more of them. */
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
