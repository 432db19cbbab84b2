/** An event as a short message for people, whatever the program that shows it. Pure. */
import { sanitize } from '../../../../base/sanitize.ts';
import { isObject, type JsonObject, shorten } from '../../../../base/values.ts';

/** Nothing in it is formatted: all of its texts are plain. */
export interface ChatMessage {
  /** One line. */
  title: string;
  /** Empty if there is nothing to add to the title. */
  text: string;
  facts: readonly (readonly [label: string, value: string])[];
  /** The run that it is about. */
  run: { id: string; requestId: string | undefined } | undefined;
  /** The label of the link to the run. */
  linkLabel: string;
}

const limits = { title: 150, text: 2_000, fact: 300, facts: 8 };

/** The message for the payload of an event. A kind that is not known here gets a message with its name. */
export function chatMessage(payload: JsonObject): ChatMessage {
  const { type, test, data } = payload;
  const kind = typeof type === 'string' ? type : 'event';
  const object = isObject(data) ? data : {};
  const draft = describe(kind, object);
  const run = runOf(object);
  return {
    title: line(`${test === true ? 'Test: ' : ''}${draft.title}`, limits.title),
    text: shorten(sanitize(word(draft.text)).trim(), limits.text),
    facts: [...(draft.facts ?? []), ...(run === undefined ? [] : [['Run', run.id] as const])]
      .flatMap(([label, value]) => (typeof value === 'string' && value.trim() !== '' ? [[label, line(value, limits.fact)] as const] : []))
      .slice(0, limits.facts),
    run,
    linkLabel: run?.requestId === undefined ? 'Open the run' : 'Open the request',
  };
}

interface Draft {
  title: string;
  text?: unknown;
  facts?: readonly (readonly [label: string, value: unknown])[];
}

function describe(kind: string, data: JsonObject): Draft {
  const member = (name: string): JsonObject => (isObject(data[name]) ? data[name] : {});
  const run = member('run');
  const runName = typeof run.run_number === 'number' ? `Run #${run.run_number}` : 'A run';
  switch (kind) {
    case 'human_request.created':
      return requestDraft(member('human_request'));
    case 'human_request.reminder': {
      const { title, text } = requestDraft(member('human_request'));
      return { title: `Still waiting: ${title}`, text };
    }
    case 'human_request.responded':
      return { title: `Answered: ${word(member('human_request').title)}`, text: member('human_request').response };
    case 'run.started':
      return { title: `${runName} has started` };
    case 'run.paused':
      return isObject(run.pending_human_request) ? requestDraft(run.pending_human_request) : { title: `${runName} is waiting` };
    case 'run.completed':
      return { title: `${runName} has completed` };
    case 'run.failed':
      return run.status === 'interrupted' ? { title: `${runName} was stopped` } : { title: `${runName} has failed`, text: run.error };
    case 'run.message.created':
      return { title: 'New message in a run', text: member('message').text_content };
    case 'run.tool_call.completed':
      return { title: `Tool call completed: ${word(member('tool_call').name)}` };
    case 'run.file.created':
      return { title: `File recorded: ${word(member('file').name)}` };
    case 'queue.case.created':
    case 'queue.case.claimed':
    case 'queue.case.completed':
      return { title: `Case ${kind.slice('queue.case.'.length)}: ${word(member('case').title)}`, facts: [['Queue', member('queue').name]] };
    case 'assignment.build.published':
      return { title: `New live revision of ${word(member('agent').name)}`, text: member('build').revision_name };
    case 'connection.updated':
      return { title: `Connection updated: ${word(member('connection').name)}` };
    case 'connection.action_required':
      return { title: `Connection needs attention: ${word(member('connection').name)}`, text: member('connection').broken_reason };
    case 'webhook.disabled': {
      const { description, url, disabled_reason } = member('webhook');
      // The rest of the address can be a secret.
      const host = typeof url === 'string' && URL.canParse(url) ? new URL(url).host : '';
      return {
        title: 'A webhook was disabled',
        text: disabled_reason,
        facts: [
          ['Host', host],
          ['Description', description],
        ],
      };
    }
    default:
      return { title: kind };
  }
}

function requestDraft({ type, title, description, questions }: JsonObject): Draft {
  const isQuestion = type === 'question';
  const list = Array.isArray(questions) ? (questions as unknown[]).filter(isObject) : [];
  const lines = list.map(({ question, options }) => {
    const labels = Array.isArray(options) ? (options as unknown[]).filter(isObject).map(({ label }) => word(label)) : [];
    return `${word(question)}${labels.length === 0 ? '' : ` (${labels.join(', ')})`}`;
  });
  return { title: `${isQuestion ? 'Question' : 'Approval needed'}: ${word(title)}`, text: [word(description), ...lines].join('\n').trim() };
}

/** The run that an event is about, and its human request. */
function runOf(data: JsonObject): ChatMessage['run'] {
  const run = isObject(data.run) ? data.run : {};
  const id = data.run_id ?? run.id;
  if (typeof id !== 'string') return undefined;
  const request = isObject(data.human_request) ? data.human_request : isObject(run.pending_human_request) ? run.pending_human_request : {};
  const isPending = typeof request.id === 'string' && request.responded_at === undefined;
  return { id, requestId: isPending ? String(request.id) : undefined };
}

const word = (value: unknown): string => (typeof value === 'string' ? value : '');
const line = (text: string, length: number): string => shorten(sanitize(text).replaceAll(/\s+/g, ' ').trim(), length);
