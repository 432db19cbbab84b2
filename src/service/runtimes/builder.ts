/** The contract between the engine and what changes a procedure on request. */
import type { ExecLevel } from '../sandbox/launch.ts';
import type { Outcome as RequestOutcome } from '../words/outcome.ts';

/** A request to change a procedure, with the answers so far. */
export interface BuildRequest {
  /** Null for a revision without a procedure. */
  procedure: string | null;
  prompt: string;
  /** The answers by question text; several chosen options are joined with commas. */
  answers: Readonly<Record<string, string>>;
  exec: ExecLevel;
  /** Whether the service can open pages in a browser. */
  browsing: boolean;
  /** Names and IDs of the team's connections. */
  connections: readonly string[];
}

/** Something outside the procedure that the proposal needs. */
export interface SetupChange {
  type: 'exec' | 'file' | 'secret' | 'connection' | 'browser' | 'schedule';
  name: string;
  title: string;
  description: string;
  /** Whether it is already set up. */
  satisfied: boolean;
  /** The fields of a suggested schedule. */
  schedule?: { frequency: string; time: string | null; day: string | null; day_of_month: number | null };
}

export type BuildOutcome = RequestOutcome<{
  status: 'proposed';
  procedure: string;
  changes: string[];
  setupChanges: SetupChange[];
  scheduleSuggested: boolean;
}>;

/** Proposes changed procedures. It can be called again at any time, and the same request must then have the same outcome. */
export interface Builder {
  /** @param enter called with each phase that begins; throws when the build was discarded or lost */
  build(request: BuildRequest, enter: (phase: string) => Promise<void>): Promise<BuildOutcome>;
}
