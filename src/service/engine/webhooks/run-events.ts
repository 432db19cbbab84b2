/** Webhook events about runs. They contain the objects of the interface, as a read at that moment would return them. */
import type { Clock } from '../../../base/clock.ts';
import type { Queries } from '../../store/database/database.ts';
import type { HumanRequestRow, MessageRow, RunFileRow, RunRow } from '../../store/database/schema.ts';
import { pendingRequest } from '../../store/runs/human-requests.ts';
import { toolCallMessage } from '../../store/runs/messages.ts';
import { answeredRequestView, humanRequestView, messageView, runView } from '../../views/runs.ts';
import { type NewEvent, recordEvents } from './events.ts';

type RunEventKind = 'run.started' | 'run.paused' | 'run.completed' | 'run.failed';

/** Records events of a run in the caller's transaction. If it returns true, wake the worker after the commit. */
export const recordRunEvents = (clock: Clock, trx: Queries, run: RunRow, events: readonly NewEvent[]): Promise<boolean> =>
  recordEvents(clock, trx, { teamId: run.team_id, run }, events);

/** The event for a new status of a run. The interface has no kind for an interrupted run: it is reported as `run.failed`, with that status. */
export const runEvent = (trx: Queries, kind: RunEventKind, run: RunRow): NewEvent => ({
  kind,
  data: async () => ({ run: runView(run, await pendingRequest(trx, run.id)) }),
});

/** The events for messages: one for each text, and one for each tool call once it has its result. */
export function messageEvents(trx: Queries, run: RunRow, messages: readonly MessageRow[]): NewEvent[] {
  const ids = { run_id: run.id, agent_id: run.agent_id };
  return messages.flatMap((row): NewEvent[] => {
    if (row.type === 'tool_call') return [];
    if (row.type !== 'tool_result') return [{ kind: 'run.message.created', data: () => ({ ...ids, message: messageView(row) }) }];
    const { tool_result } = messageView(row);
    const data = async () => {
      const call = await toolCallMessage(trx, row, tool_result?.tool_call_id ?? '');
      return { ...ids, tool_call: call === undefined ? null : (messageView(call).tool_call ?? null), tool_result };
    };
    return [{ kind: 'run.tool_call.completed', data }];
  });
}

export const fileEvent = (run: RunRow, file: Pick<RunFileRow, 'id' | 'name' | 'mime_type' | 'size' | 'created_at'>): NewEvent => ({
  kind: 'run.file.created',
  data: () => ({
    run_id: run.id,
    agent_id: run.agent_id,
    file: { file_id: file.id, name: file.name, mime_type: file.mime_type, size: file.size, created_at: file.created_at },
  }),
});

export const askedEvent = (run: RunRow, request: HumanRequestRow): NewEvent => ({
  kind: 'human_request.created',
  data: () => ({ run_id: run.id, agent_id: run.agent_id, human_request: humanRequestView(request) }),
});

/** A reminder of a request that is still pending. An extension of the interface. */
export const reminderEvent = (run: RunRow, request: HumanRequestRow): NewEvent => ({
  kind: 'human_request.reminder',
  data: () => ({ run_id: run.id, agent_id: run.agent_id, human_request: humanRequestView(request) }),
});

export const respondedEvent = (run: RunRow, request: HumanRequestRow): NewEvent => ({
  kind: 'human_request.responded',
  data: () => ({ run_id: run.id, agent_id: run.agent_id, human_request: answeredRequestView(request) }),
});
