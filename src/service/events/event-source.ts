/** What a stream of events is read from. */

export interface ServerEvent {
  /** What to resume after; left out for a hint that is not part of the sequence. */
  readonly id?: string;
  readonly type: string;
  readonly data: unknown;
}

export interface EventSource {
  /**
   * Yields what has happened since the last look, oldest first. It may be left in the middle; the next look continues there.
   * Returns false when nothing more is to come.
   */
  look(): AsyncGenerator<ServerEvent, boolean, undefined>;
}
