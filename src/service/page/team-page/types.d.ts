/** The part of the interface that the page uses: the same types that the service is checked against. */

import type { AgentListItem, Build } from '../../../interface/schemas/agents.ts';
import type { TeamEntitlements, TeamUsage } from '../../../interface/schemas/billing.ts';
import type { Case, CaseEvent, CaseRun } from '../../../interface/schemas/cases.ts';
import type { LocalCredential } from '../../../interface/schemas/local.ts';
import type { Queue } from '../../../interface/schemas/queues.ts';
import type { HumanQuestion, HumanRequest, Run, RunDetail, RunListItem, RunMessage } from '../../../interface/schemas/runs.ts';
import type { SandboxFileContent, SandboxFileEntry, ScreenshotToolExecution } from '../../../interface/schemas/sandboxes.ts';
import type { Schedule } from '../../../interface/schemas/schedules.ts';
import type { Session } from './session.js';

export type {
  AgentListItem,
  Build,
  Case,
  CaseEvent,
  CaseRun,
  HumanQuestion,
  HumanRequest,
  Queue,
  Run,
  RunDetail,
  RunListItem,
  RunMessage,
  SandboxFileContent,
  SandboxFileEntry,
  Schedule,
  Session,
  TeamEntitlements,
  TeamUsage,
};
export type Shot = ScreenshotToolExecution;
export type Credential = Pick<LocalCredential, 'team_id' | 'scopes' | 'name'>;

/** The view for an address. */
export interface View {
  readonly element: HTMLElement;
  readonly title: () => string;
  /** Reads new data. Resolves to the milliseconds until the next read. */
  refresh(signal: AbortSignal): Promise<number>;
  /** Whether its own event stream reports changes; absent if the team's stream does. */
  isStreamed?(): boolean;
  /** Called when the view is no longer shown. */
  close?(): void;
}

/** What views can use. */
export interface App {
  readonly session: Session;
  /** Reads again, now. */
  wake(): void;
  /** Reads again, now, and ignores what is being read: it has other filters. */
  restart(): void;
  /** Reads again soon, because an event reported a change. */
  onChange(): void;
  /** The pending requests, as of the last read. */
  readonly waiting: readonly RunListItem[];
  /** The number of pending requests, which can be more than were read. */
  readonly waitingCount: number;
}

/** The part of a service worker's global scope that worker.js uses; TypeScript has its types only for files without a page. */
export interface WorkerScope {
  readonly location: Location;
  readonly registration: ServiceWorkerRegistration & {
    showNotification(title: string, options: NotificationOptions & { renotify: boolean }): Promise<void>;
  };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { type: 'window'; includeUncontrolled: boolean }): Promise<readonly WorkerClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listener: (event: WorkerEvent) => void): void;
  addEventListener(
    type: 'fetch',
    listener: (event: WorkerEvent & { request: Request; respondWith(response: Promise<Response>): void }) => void,
  ): void;
  addEventListener(type: 'push', listener: (event: WorkerEvent & { data: { text(): string } | null }) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: WorkerEvent & { notification: Notification }) => void): void;
}

interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
}

interface WorkerClient {
  readonly url: string;
  readonly visibilityState: DocumentVisibilityState;
  postMessage(message: unknown): void;
  focus(): Promise<unknown>;
}
