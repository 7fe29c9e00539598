import { useSignal } from "@preact/signals";
import type { Token, Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Link } from "../value/content.tsx";
import { Prose, visibleProse } from "./text.tsx";

const maxLength = 20_000;
const maxDepth = 8;
/** Text without these characters needs no parser. */
const hasMarkup = /[*_`#[\]>|~-]|\n/;

/** A description as Markdown: without HTML, without images, and with links whose address is visible. */
export function Markdown({ source }: { source: string }) {
  const text = source.length > maxLength ? `${source.slice(0, maxLength)}…` : source;
  const tokens = useSignal<Token[] | undefined>(undefined);
  useEffect(() => {
    if (!hasMarkup.test(text)) return;
    import("marked").then(
      ({ lexer }) => {
        tokens.value = lexer(text);
      },
      () => {},
    ); // The text itself stays.
  }, [text, tokens]);
  return (
    <div class="markdown">
      {tokens.value === undefined ? <Prose value={text} max={maxLength} /> : toNodes(tokens.value, 0)}
    </div>
  );
}

function toNodes(tokens: readonly Token[], depth: number): ComponentChildren {
  if (depth > maxDepth) return tokens.map(({ raw }) => visibleProse(raw)).join("");
  return tokens.map((token, at) => <Part key={at} token={token} depth={depth} />);
}

function Part({ token, depth }: { token: Token; depth: number }) {
  const inner = () =>
    "tokens" in token && token.tokens !== undefined
      ? toNodes(token.tokens, depth + 1)
      : visibleProse("text" in token ? String(token.text) : token.raw);
  switch (token.type) {
    case "space":
      return null;
    case "paragraph":
      return <p>{inner()}</p>;
    case "heading":
      return <h3>{inner()}</h3>;
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "codespan":
      return <code>{visibleProse(token["text"])}</code>;
    case "code":
      return <pre>{visibleProse(token["text"])}</pre>;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "blockquote":
      return <blockquote>{inner()}</blockquote>;
    case "list": {
      const items = (token as Tokens.List).items.map((item, at) => <li key={at}>{toNodes(item.tokens, depth + 1)}</li>);
      return token["ordered"] === true ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "link":
      return <Link uri={token["href"]} text={token["text"]} />;
    case "image":
      return <Link uri={token["href"]} text={token["text"] || "image"} />;
    case "text":
      return <>{inner()}</>;
    default:
      return <>{visibleProse(token.raw)}</>; // HTML and tables stay as they are written.
  }
}
