/** The promises of the service that hold whatever happens, as functions of what was acknowledged, received, and read at the end. */
import type { Observation, ObservedRun } from './observation.ts';
import { wrongTexts } from './procedures.ts';
import { scheduleViolations } from './schedule-property.ts';

/** The properties, in words of the report. */
export const properties = {
  lost: 'nothing acknowledged is lost',
  repeated: 'nothing is executed or journalled twice',
  numbers: 'no run number is used twice',
  stuck: 'no run is stuck',
  deliveries: 'every event is delivered',
  schedules: 'every scheduled time fires once',
} as const;
export type Property = keyof typeof properties;

/** @returns what is wrong, by property; empty lists if all of them hold */
export const violationsOf = (observation: Observation): Record<Property, string[]> => ({
  lost: lost(observation),
  repeated: repeated(observation),
  numbers: duplicates(observation.runs.map(({ number }) => String(number))).map((number) => `run number ${number} is used twice`),
  stuck: stuck(observation),
  deliveries: deliveries(observation),
  schedules: scheduleViolations(observation),
});

function lost({ acknowledged, runs, cases }: Observation): string[] {
  const runById = new Map(runs.map((run) => [run.id, run]));
  const caseIds = new Set(cases.map(({ id }) => id));
  return acknowledged.flatMap((entry) => {
    const run = 'run' in entry ? runById.get(entry.run) : undefined;
    switch (entry.kind) {
      case 'run':
        return run?.number === entry.number ? [] : [`run ${entry.run} was acknowledged with the number ${entry.number}`];
      case 'message':
        return run?.messages.some(({ text }) => text === entry.text) ? [] : [`message "${entry.text}" to run ${entry.run}`];
      case 'answer': {
        const request = run?.requests.find(({ id }) => id === entry.request);
        const isKept = request?.status === 'answered' && request.response === entry.response;
        return isKept ? [] : [`answer "${entry.response}" to request ${entry.request} of run ${entry.run}`];
      }
      case 'case':
        return caseIds.has(entry.case) ? [] : [`case ${entry.case}`];
      default:
        return [];
    }
  });
}

function repeated({ acknowledged, runs, cases, remembered }: Observation): string[] {
  const asking = runs.filter(({ agent }) => agent === 'asking');
  const startedItems = acknowledged.filter(({ kind }) => kind === 'run').length;
  const startedRuns = runs.filter(({ source }) => source !== 'schedule').length - runs.filter(({ agent }) => agent === 'case').length;
  const expectedCases = acknowledged.filter(({ kind }) => kind === 'case').length + asking.length;
  return [
    ...(startedRuns === startedItems ? [] : [`${startedRuns} runs exist for ${startedItems} acknowledged starts`]),
    ...(cases.length === expectedCases ? [] : [`${cases.length} cases exist instead of ${expectedCases}`]),
    ...duplicates(cases.map(({ title }) => title)).map((title) => `case "${title}" exists twice`),
    ...duplicates(remembered).map((line) => `"${line}" was remembered twice`),
    ...(remembered.length === asking.length ? [] : [`${remembered.length} lines were remembered by ${asking.length} runs`]),
    ...duplicates(runs.flatMap(({ agent, messages }) => (agent === 'case' ? [messages[0]?.text ?? ''] : []))).map(
      (title) => `case "${title}" was taken twice`,
    ),
    ...runs.flatMap(stepViolations),
  ];
}

/** Steps that were not executed exactly once. */
function stepViolations({ id, agent, messages, requests, status }: ObservedRun): string[] {
  if (status !== 'completed') return [];
  const texts = messages.flatMap(({ isFromAgent, text }) => (isFromAgent ? [text] : []));
  const sent = messages.flatMap(({ isFromAgent, text }) => (isFromAgent ? [] : [text]));
  const wrong = wrongTexts(agent, texts, sent);
  const expectedRequests = agent === 'asking' ? 2 : 0;
  return [
    ...(wrong === undefined ? [] : [`run ${id} (${agent}) ${wrong}`]),
    ...duplicates(sent).map((text) => `message "${text}" is in run ${id} twice`),
    ...(requests.length === expectedRequests ? [] : [`run ${id} asked ${requests.length} times instead of ${expectedRequests}`]),
  ];
}

const stuck = ({ runs, cases }: Observation): string[] => [
  ...runs.flatMap(({ id, agent, status }) => (status === 'completed' ? [] : [`run ${id} (${agent}) is ${status}`])),
  ...cases.flatMap(({ id, status }) => (status === 'completed' ? [] : [`case ${id} is ${status}`])),
];

/** Events that must have been received: what they are about, by kind. */
function expectedEvents({ runs, cases }: Observation): Map<string, string> {
  const events = new Map<string, string>();
  const expect = (kind: string, subject: string, words: string): void => void events.set(`${kind} ${subject}`, words);
  for (const { id, messages, requests } of runs) {
    expect('run.started', id, `run ${id}`);
    expect('run.completed', id, `run ${id}`);
    for (const message of messages) if (message.isFromAgent) expect('run.message.created', message.id, `"${message.text}" of run ${id}`);
    for (const request of requests) {
      expect('human_request.created', request.id, `request ${request.id}`);
      expect('human_request.responded', request.id, `request ${request.id}`);
    }
  }
  for (const { id, title } of cases)
    for (const kind of ['created', 'claimed', 'completed']) expect(`queue.case.${kind}`, id, `case "${title}"`);
  return events;
}

/** Kinds of events that can occur more than once for the same subject: a run can take several turns. */
const repeatable = 'run.completed';

function deliveries(observation: Observation): string[] {
  const { received } = observation;
  const accepted = received.filter(({ isAccepted }) => isAccepted);
  const ids = new Map<string, Set<string>>();
  for (const { id, type, data } of accepted) {
    const key = `${type} ${(data.message ?? data.human_request ?? data.case ?? data.run)?.id}`;
    ids.set(key, (ids.get(key) ?? new Set()).add(id));
  }
  const bodies = new Map<string, string>();
  const changed = received.filter(({ id, body }) => {
    const first = bodies.get(id) ?? body;
    bodies.set(id, first);
    return first !== body;
  });
  const receivedIds = new Set(accepted.map(({ id }) => id));
  const expected = expectedEvents(observation);
  return [
    ...[...expected].flatMap(([key, words]) => (ids.has(key) ? [] : [`${key.split(' ')[0]} of ${words} was not received`])),
    ...[...ids].flatMap(([key, { size }]) =>
      size > 1 && expected.has(key) && !key.startsWith(repeatable) ? [`${key} was reported as ${size} events`] : [],
    ),
    ...changed.map(({ id }) => `the body of event ${id} differs between attempts`),
    ...received.flatMap(({ id, isSigned }) => (isSigned ? [] : [`event ${id} has a wrong signature`])),
    ...observation.deliveries.flatMap(({ eventId, event, status }) =>
      status === 'delivered' && receivedIds.has(eventId)
        ? []
        : [`${event} ${eventId} is ${status}, and was ${receivedIds.has(eventId) ? '' : 'not '}accepted`],
    ),
  ];
}

/** The values that occur more than once. */
function duplicates(values: readonly string[]): string[] {
  const seen = new Set<string>();
  return [...new Set(values.filter((value) => seen.size === seen.add(value).size))];
}
