/** What a connection may take: times in milliseconds, and how many there may be. */
export interface HttpLimits {
  /** For all headers of a request, also its first byte. */
  readonly headersMilliseconds: number;
  /** For a whole body, except that of a signed upload, which may take as long as it moves. */
  readonly bodyMilliseconds: number;
  /** Without a byte in either direction. */
  readonly idleMilliseconds: number;
  /** Between two requests. */
  readonly keepAliveMilliseconds: number;
  /** How long a body is still read and thrown away after its request was refused. */
  readonly lingerMilliseconds: number;
  /** How often the first of these is looked at. */
  readonly checkMilliseconds: number;
  /** At once; further ones are closed. */
  readonly connections: number;
  /** Of these, those from one address; further ones are closed. */
  readonly connectionsPerAddress: number;
  /** Streams of events at once, of all callers and of one credential; further ones are refused. */
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
