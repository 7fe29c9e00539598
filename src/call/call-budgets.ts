import type { CallBudget } from "../registry/index.ts";

/** A budget that calls share which came at different times: those that one call of somebody outside has caused. */
interface SharedBudget extends CallBudget {
  readonly root: string;
  /** How many of these calls run here now. */
  users: number;
}

/**
 * What calls from outside may cause. A call that comes back to this process through peers counts on the budget of the
 * first one, which it names; whoever names another shares less than the fresh budget it would have had.
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

  /** The budget of the calls that `root` has caused, for one more of them. */
  join(root: string): CallBudget {
    const budget = this.share(root, undefined);
    budget.callsLeft -= 1;
    return budget;
  }

  /** Lets calls that will name `root` count on the budget of the one that is it. */
  share(root: string, own: CallBudget | undefined): CallBudget {
    const left = own?.callsLeft ?? this.#allowed;
    const known = this.#shared.get(root);
    const budget = known ?? { allowed: this.#allowed, callsLeft: left, root, users: 0 };
    if (known === undefined) this.#shared.set(root, budget);
    budget.callsLeft = Math.min(budget.callsLeft, left);
    budget.users += 1;
    return budget;
  }

  /** A call that used this budget has ended. */
  leave(budget: CallBudget): void {
    if (!isShared(budget)) return;
    budget.users -= 1;
    if (budget.users === 0) this.#shared.delete(budget.root);
  }
}

/** Whether other calls can find it. */
export function isShared(budget: CallBudget): budget is SharedBudget {
  return "users" in budget;
}
