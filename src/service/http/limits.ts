/** Limits of connections: times in milliseconds, and numbers. */
export interface HttpLimits {
  /** For receiving all headers of a request, including its first byte. */
  readonly headersMilliseconds: number;
  /** For receiving a whole body, except that of a signed upload, which may take any time as long as data arrives. */
  readonly bodyMilliseconds: number;
  /** Without a byte in either direction. */
  readonly idleMilliseconds: number;
  /** Between two requests. */
  readonly keepAliveMilliseconds: number;
  /** How long a body is read and discarded after its request was refused. */
  readonly lingerMilliseconds: number;
  /** How often the limit for headers is checked. */
  readonly checkMilliseconds: number;
  /** Maximum number of simultaneous connections; further ones are closed. */
  readonly connections: number;
  /** The same for one address. */
  readonly connectionsPerAddress: number;
  /** Maximum number of simultaneous event streams, in total and per credential; further ones are refused. */
  readonly streams: number;
  readonly streamsPerCredential: number;
  /** Between the comments that keep a quiet stream open. */
  readonly heartbeatMilliseconds: number;
}

export const defaultHttpLimits: HttpLimits = {
  headersMilliseconds: 10_000,
  bodyMilliseconds: 60_000,
  idleMilliseconds: 120_000,
  keepAliveMilliseconds: 15_000,
  lingerMilliseconds: 2_000,
  checkMilliseconds: 2_000,
  connections: 4_096,
  connectionsPerAddress: 1_024,
  streams: 512,
  streamsPerCredential: 64,
  heartbeatMilliseconds: 15_000,
};
