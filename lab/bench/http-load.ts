import { connect, type Socket } from "node:net";

/** Sends one request again and again on several keep-alive connections, never two at a time on one of them. */
export interface Load {
  /** Sends this number of requests and waits for all responses. */
  run(count: number): Promise<void>;
  /** Sends one request and returns the body of the response. */
  probe(): Promise<string>;
  close(): void;
}

/** A request as HTTP/1.1 writes it. */
export interface RawRequest {
  method: string;
  target: string;
  headers: Record<string, string>;
  body?: string;
}

interface Client {
  runWhile(next: () => boolean): Promise<void>;
  probe(): Promise<string>;
  close(): void;
}

const headEnd = "\r\n\r\n";
const lastChunk = "0\r\n\r\n";
const lengthHeader = "\r\ncontent-length:";

/** Opens the connections. Raw sockets and a prepared request cost less than every server that is measured. */
export async function openLoad(port: number, request: RawRequest, connections: number): Promise<Load> {
  const bytes = Buffer.from(formatRequest(request));
  const clients = await Promise.all(Array.from({ length: connections }, () => openClient(port, bytes)));
  return {
    run: async (count) => {
      let left = count;
      await Promise.all(clients.map((client) => client.runWhile(() => left-- > 0)));
    },
    probe: () => clients[0]!.probe(),
    close: () => {
      for (const client of clients) client.close();
    },
  };
}

/** Opens a connection, sends a request and keeps the connection open. Resolves with the first bytes of the response. */
export async function openIdle(port: number, request: RawRequest): Promise<Socket> {
  const socket = await openSocket(port);
  socket.write(formatRequest(request));
  await new Promise((resolve) => socket.once("data", resolve));
  return socket;
}

function formatRequest({ method, target, headers, body = "" }: RawRequest): string {
  const lines = Object.entries({ host: "127.0.0.1", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  if (body !== "") lines.push(`content-length: ${Buffer.byteLength(body)}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

async function openClient(port: number, request: Buffer): Promise<Client> {
  const socket = await openSocket(port);
  let received: string[] = [];
  let onResponse: (chunks: string[]) => void = () => {};
  let onFailure: (error: Error) => void = () => {};
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    received.push(chunk);
    if (!isComplete(received)) return;
    const response = received;
    received = [];
    onResponse(response);
  });
  socket.on("error", (error) => onFailure(error));
  socket.on("close", () => onFailure(new Error("The server closed a connection.")));
  return {
    probe: () =>
      new Promise((resolve, reject) => {
        onFailure = reject;
        onResponse = (chunks) => resolve(readBody(chunks.join("")));
        socket.write(request);
      }),
    runWhile: (next) =>
      new Promise((resolve, reject) => {
        onFailure = reject;
        onResponse = (chunks) => {
          if (!chunks[0]!.startsWith("HTTP/1.1 200")) reject(new Error(`Unexpected response:\n${chunks.join("")}`));
          else if (next()) socket.write(request);
          else resolve();
        };
        if (next()) socket.write(request);
        else resolve();
      }),
    close: () => {
      onFailure = () => {};
      socket.destroy();
    },
  };
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}

/** Whether the chunks are a whole response. Looks at the first and the last chunk only, because streams are long. */
function isComplete(chunks: readonly string[]): boolean {
  const [first] = chunks as [string];
  const end = first.indexOf(headEnd);
  if (end === -1) return false;
  const head = first.slice(0, end).toLowerCase();
  const at = head.indexOf(lengthHeader);
  if (at === -1) return chunks.slice(-2).join("").endsWith(lastChunk);
  const length = Number.parseInt(head.slice(at + lengthHeader.length), 10);
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0) >= end + headEnd.length + length;
}

/** Returns the body of a response, without the framing of chunks. */
function readBody(response: string): string {
  const end = response.indexOf(headEnd);
  let at = end + headEnd.length;
  if (response.slice(0, end).toLowerCase().includes(lengthHeader)) return response.slice(at);
  let body = "";
  while (at < response.length) {
    const lineEnd = response.indexOf("\r\n", at);
    const start = lineEnd + 2;
    const length = Number.parseInt(response.slice(at, lineEnd), 16);
    body += response.slice(start, start + length);
    at = start + length + 2;
  }
  return body;
}
