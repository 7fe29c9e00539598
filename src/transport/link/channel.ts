/** Carries whole messages of text, in order, between two peers: a port, a socket. */
export interface Channel {
  send(text: string): void;
  /** How many bytes were given to `send` and have not left yet; 0 where nobody can tell. */
  readonly bufferedAmount: number;
  /** How many bytes have come, where that can be told: a long message is a sign of life before it is whole. */
  readonly receivedBytes?: number;
  /** Lets go of what is below. `reason` tells why when the link failed. */
  close(reason?: Error): void;
}
