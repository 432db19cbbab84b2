/** What the properties are about: the state of the service at the end, and what was acknowledged and received before. */
import type { Acknowledged } from './ledger.ts';
import type { AgentName } from './procedures.ts';
import type { ReceivedEvent } from './receiver.ts';

/** A run with what happened in it. */
export interface ObservedRun {
  id: string;
  number: number;
  agent: AgentName;
  source: string;
  status: string;
  /** Milliseconds since 1970, by the clock of the service. */
  createdAt: number;
  messages: { id: string; isFromAgent: boolean; text: string }[];
  requests: { id: string; status: string; response: string }[];
}

export interface ObservedSchedule {
  id: string;
  task: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** The same; null if there is no next time. */
  nextAt: number | null;
}

/** A time that the clock of the service skipped, in milliseconds since 1970. */
export interface Skipped {
  from: number;
  to: number;
}

/** Everything that the properties are about. */
export interface Observation {
  acknowledged: readonly Acknowledged[];
  runs: readonly ObservedRun[];
  cases: readonly { id: string; title: string; status: string }[];
  /** Lines of the memory to which each asking run adds one. */
  remembered: readonly string[];
  deliveries: readonly { eventId: string; event: string; status: string }[];
  received: readonly ReceivedEvent[];
  schedules: readonly ObservedSchedule[];
  /** When the schedules were read, by the clock of the service. */
  readAt: number;
  skipped: readonly Skipped[];
}
