/** Cuts the slashes off the end. An expression such as `/\/+$/` takes quadratic time on a text with many of them inside. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0x2f) end--;
  return text.slice(0, end);
}
