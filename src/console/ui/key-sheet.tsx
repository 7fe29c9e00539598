import { currentBindings, keysOpen } from "../app/keys.ts";
import { change, preferences } from "../app/preferences.ts";
import { Dialog, KeyHint } from "./parts.tsx";
import { set } from "./set.ts";

/** The keys that work in the current view. */
export function KeySheet() {
  const bindings = new Map(currentBindings().map((binding) => [binding.key, binding]));
  return (
    <Dialog title="Keys" onClose={set(keysOpen, false)}>
      <dl class="keys">
        {[...bindings.values()].map(({ key, does }) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((one) => (
                <KeyHint key={one} name={one} />
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={preferences.value.keys}
          onChange={(event) => change({ keys: event.currentTarget.checked })}
        />
        Keys without ⌘ or Ctrl work when no field has the focus
      </label>
    </Dialog>
  );
}
