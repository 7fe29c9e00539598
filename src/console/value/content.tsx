import { useEffect, useMemo } from "preact/hooks";
import { Button } from "../ui/parts.tsx";
import { formatBytes, Name, Prose } from "../ui/text.tsx";

/** A block of the result of an MCP tool, as envelopes have it. */
export interface ContentBlock {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  resource?: { uri?: string; text?: string; blob?: string; mimeType?: string };
}

/** The images that are shown, by their first bytes. Never SVG: it is a document with scripts. */
const images: readonly (readonly [type: string, bytes: readonly number[], at: number])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47], 0],
  ["image/jpeg", [0xff, 0xd8, 0xff], 0],
  ["image/gif", [0x47, 0x49, 0x46, 0x38], 0],
  ["image/webp", [0x57, 0x45, 0x42, 0x50], 8],
  ["image/avif", [0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69, 0x66], 4],
];

/** The blocks of the result of an MCP tool. */
export function ContentBlocks({ blocks }: { blocks: readonly ContentBlock[] }) {
  return (
    <ol class="blocks">
      {blocks.map((block, at) => (
        <li key={at}>
          <Block block={block} />
        </li>
      ))}
    </ol>
  );
}

function Block({ block }: { block: ContentBlock }) {
  const { type, text, data, mimeType, uri, name, resource } = block;
  if (type === "text") return <Prose value={text ?? ""} max={20_000} />;
  if (type === "image" || type === "audio")
    return <Bytes base64={data ?? ""} name={type} isAudio={type === "audio"} mimeType={mimeType} />;
  if (type === "resource_link") return <Link uri={uri ?? ""} text={name ?? uri ?? ""} />;
  if (type === "resource" && resource !== undefined) {
    return (
      <>
        <Name value={resource.uri ?? "resource"} />
        {resource.text !== undefined && <Prose value={resource.text} max={20_000} />}
        {resource.blob !== undefined && <Bytes base64={resource.blob} name="resource" mimeType={resource.mimeType} />}
      </>
    );
  }
  return <Prose value={JSON.stringify(block)} />;
}

/** Bytes: an image or a sound where that is safe, and always a file to save. */
export function Bytes(props: { base64: string; name: string; mimeType?: string; isAudio?: boolean }) {
  const { base64, name, mimeType, isAudio } = props;
  const bytes = useMemo(() => decode(base64), [base64]);
  const image = bytes === undefined ? undefined : imageTypeOf(bytes);
  const sound = isAudio === true && /^audio\/[\w.+-]+$/.test(mimeType ?? "") ? mimeType : undefined;
  const shownAs = image ?? sound;
  const url = useMemo(
    () =>
      bytes === undefined || shownAs === undefined
        ? undefined
        : URL.createObjectURL(new Blob([bytes], { type: shownAs })),
    [bytes, shownAs],
  );
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url]);
  if (bytes === undefined) return <p class="bad">These bytes are not valid base64.</p>;
  return (
    <figure class="bytes">
      {image !== undefined && <img src={url} alt={`${name} of the result`} />}
      {sound !== undefined && (
        // biome-ignore lint/a11y/useMediaCaption: results of tools have no captions
        <audio controls src={url} />
      )}
      <figcaption>
        {mimeType !== undefined && <Name value={mimeType} />} {formatBytes(bytes.length)}
        <Button kind="quiet" onClick={() => save(bytes, name)}>
          Save
        </Button>
      </figcaption>
    </figure>
  );
}

/** A link that somebody else wrote: only to the web or to mail, and with its address visible. */
export function Link({ uri, text }: { uri: string; text: string }) {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  const isSafe = url !== undefined && ["http:", "https:", "mailto:"].includes(url.protocol);
  if (!isSafe) return <Name value={uri} />;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer">
      <Prose value={text} max={200} /> <span class="muted">({url.host || url.pathname})</span>
    </a>
  );
}

/** Saves bytes as a file that no browser opens by itself. */
export function save(bytes: BlobPart, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "_").slice(0, 80);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function imageTypeOf(bytes: Uint8Array): string | undefined {
  return images.find(([, magic, at]) => magic.every((byte, index) => bytes[at + index] === byte))?.[0];
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
