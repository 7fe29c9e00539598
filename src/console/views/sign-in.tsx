import { useSignal } from "@preact/signals";
import { type SignedOut, signIn } from "../app/session.ts";
import { keepIn } from "../ui/set.ts";

const reasons: Record<SignedOut, string> = {
  new: "",
  "signed out": "You have signed out.",
  expired: "Your session has expired. What you had typed is still here.",
  removed:
    "The hub does not know your session any more: it was restarted, or your token was removed. What you had typed is still here.",
  code: "This link has been used, or it is older than five minutes.",
  refused: "The hub does not accept this token.",
  blocked: "Too many attempts from this address. Try again in a minute.",
  unreachable: "The hub cannot be reached. Look whether it is running, and try again.",
};

/** The page of a person who is not signed in. The address stays, so that signing in continues there. */
export function SignIn({ reason }: { reason: SignedOut }) {
  const token = useSignal("");
  const isBusy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    isBusy.value = true;
    await signIn(token.value.trim());
    isBusy.value = false;
  };
  return (
    <main class="sign-in" data-view="sign-in" data-state="ready">
      <h1>
        <span aria-hidden="true">◇</span> Sign in
      </h1>
      <p class="muted">
        to the hub at <code>{location.host}</code>
      </p>
      {reasons[reason] !== "" && (
        <p role="alert" class="reason">
          {reasons[reason]}
        </p>
      )}
      <p>For a new link, run this on the machine of the hub:</p>
      <pre>npx @alkdev/operations console</pre>
      <form onSubmit={submit}>
        <label for="token">Or enter a token</label>
        <div class="sign-in-row">
          <input id="token" type="password" autocomplete="off" required value={token.value} onInput={keepIn(token)} />
          <button type="submit" class="button primary" disabled={isBusy.value}>
            Sign in
          </button>
        </div>
        <p class="hint">
          A token of <code>access.tokens</code> in the configuration, or what <code>npx @alkdev/operations token</code>{" "}
          made. It is exchanged for a session of this tab.
        </p>
      </form>
    </main>
  );
}
