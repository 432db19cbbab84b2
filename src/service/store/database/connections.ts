/** What is known about the connections to a database that several processes use. */

/** The notifications of this node that have come back to it since the last call, and their delays in milliseconds. */
export interface NotificationFigures {
  count: number;
  totalDelay: number;
  maxDelay: number;
}

/** The connections of this process to the database. */
export interface DatabaseConnections {
  /** `host:port/database` */
  readonly inWords: string;
  /** Whether the connections leave this machine without TLS, so that others could read the data. */
  readonly isReadable: boolean;
  /** How many connections this process may use, including the one for notifications. */
  readonly maxCount: number;
  /** Connections for queries: those in use, idle ones, and how many queries wait for one. */
  pool(): { used: number; idle: number; waiting: number };
  /** Whether changes of other nodes are received without polling. */
  isListening(): boolean;
  /** How long notifications took since the last call. */
  notifications(): NotificationFigures;
}
