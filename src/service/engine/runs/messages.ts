/** Turns what people write, and the events of runtimes, into messages. Pure, except for new IDs. */
import { newId } from '../../ids.ts';
import type { RuntimeEvent } from '../../runtimes/run-host.ts';
import type { NewMessage, RunRow } from '../../store/database/schema.ts';

type RunTurn = Pick<RunRow, 'id' | 'turn'>;

/** The message for a text that a person sent to a run. @param requestId the human request that it answers, if any */
export const postedMessage = (run: RunTurn, text: string, now: string, requestId?: string): NewMessage => ({
  ...spokenMessage(run, 'message', text, now),
  event_id: requestId ?? null,
});

/** The message for a person's answer to a human request. */
export const responseMessage = (run: RunTurn, text: string, now: string): NewMessage => spokenMessage(run, 'human_response', text, now);

/** The message for an event. Screenshots become run files instead. */
export function eventMessage(run: RunTurn, event: Exclude<RuntimeEvent, { kind: 'screenshot' }>, now: string): NewMessage {
  const message = { ...emptyFields(run, now), event_id: event.id };
  switch (event.kind) {
    case 'text':
      return { ...message, type: 'message', role: 'assistant', text_content: event.text };
    case 'thought':
    case 'plan':
      return { ...message, type: event.kind, role: 'assistant', text_content: event.text };
    case 'notice':
      return { ...message, type: 'notice', role: 'system', text_content: event.text };
    case 'tool_call': {
      const call = { id: callId(run, event.id), name: event.name, arguments: event.arguments };
      return { ...message, type: 'tool_call', role: 'assistant', tool_call: JSON.stringify(call) };
    }
    case 'tool_result': {
      const result = { tool_call_id: callId(run, event.callId), result: event.result, error: event.error };
      return { ...message, type: 'tool_result', role: 'tool', tool_result: JSON.stringify(result) };
    }
  }
}

/** The IDs of events repeat in each turn, whereas those of calls are unique in the run. */
const callId = (run: RunTurn, id: string): string => (run.turn === 1 ? id : `${id}.${run.turn}`);

const spokenMessage = (run: RunTurn, type: string, text: string, now: string): NewMessage => ({
  ...emptyFields(run, now),
  type,
  role: 'user',
  text_content: text,
});

const emptyFields = (run: RunTurn, now: string) => ({
  run_id: run.id,
  id: newId(),
  turn: run.turn,
  event_id: null,
  text_content: null,
  tool_call: null,
  tool_result: null,
  timestamp: now,
});
