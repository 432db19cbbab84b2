/** The source of a stream of events. */

export interface ServerEvent {
  /** The position after which to resume; left out for a hint that is not part of the sequence. */
  readonly id?: string;
  readonly type: string;
  readonly data: unknown;
}

export interface EventSource {
  /**
   * Yields what has happened since the last poll, oldest first. The caller can stop in the middle; the next poll continues there.
   * Returns false if no more events will follow.
   */
  poll(): AsyncGenerator<ServerEvent, boolean, undefined>;
}
