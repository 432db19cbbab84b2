/** What the page knows of the interface: the same types that the service is checked against. */

import type { LocalCredential } from '../../../interface/schemas/local.ts';
import type { HumanQuestion, HumanRequest, Run, RunListItem, RunMessage } from '../../../interface/schemas/runs.ts';
import type { SandboxFileContent, SandboxFileEntry, ScreenshotToolExecution } from '../../../interface/schemas/sandboxes.ts';
import type { Session } from './session.js';

export type { HumanQuestion, HumanRequest, Run, RunListItem, RunMessage, SandboxFileContent, SandboxFileEntry, Session };
export type Shot = ScreenshotToolExecution;
export type Credential = Pick<LocalCredential, 'team_id' | 'scopes' | 'name'>;

/** What fills the page at an address. */
export interface View {
  readonly element: HTMLElement;
  readonly title: () => string;
  /** Reads what is new. Resolves to the milliseconds until the next time. */
  refresh(signal: AbortSignal): Promise<number>;
  /** Whether a stream of its own says when there is something new; left out where that of the team does. */
  isStreamed?(): boolean;
  /** It is no longer shown. */
  close?(): void;
}

/** What views may use. */
export interface App {
  readonly session: Session;
  /** Reads again, now. */
  wake(): void;
  /** Reads again soon: an event said that there may be something new. */
  changed(): void;
  /** The requests that wait, as they were last read. */
  readonly waiting: readonly RunListItem[];
  /** How many there are of them; so many may not have been read. */
  readonly waitingCount: number;
}
