import { signal } from "@preact/signals";

const narrow = matchMedia("(max-width: 720px)");

/** Whether the page is as narrow as a phone, where rows have two lines and are as high as a finger needs. */
export const isNarrow = signal(narrow.matches);

narrow.addEventListener("change", ({ matches }) => {
  isNarrow.value = matches;
});
