import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Skeleton } from "./states.tsx";

/** A component whose code is loaded when it is first shown. A failure appears where an error of the component would. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let Loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const failure = useSignal<unknown>(undefined);
    const isLoaded = useSignal(Loaded !== undefined);
    useEffect(() => {
      if (Loaded !== undefined) return;
      load().then(
        (component) => {
          Loaded = component;
          isLoaded.value = true;
        },
        (error) => {
          failure.value = error ?? new Error("A part of the page could not be loaded.");
        },
      );
    }, [failure, isLoaded]);
    if (failure.value !== undefined) throw failure.value;
    return isLoaded.value && Loaded !== undefined ? <Loaded {...props} /> : <Skeleton />;
  };
}
