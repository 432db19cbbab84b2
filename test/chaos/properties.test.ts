/** The chaos suite notices each kind of damage that it is there to find. */
import { describe, expect, it } from 'vitest';
import type { Observation, ObservedRun } from './observation.ts';
import { answerOf, messageOf } from './procedures.ts';
import { type Property, properties, violationsOf } from './properties.ts';
import type { ReceivedEvent } from './receiver.ts';

const start = Date.UTC(2026, 10, 23, 12);
const minute = 60_000;

type Change = (observation: Mutable) => void;
/** An observation that a test damages. */
type Mutable = { -readonly [Key in keyof Observation]: Observation[Key] extends readonly (infer Row)[] ? Row[] : Observation[Key] };

const says = (id: string, ...texts: string[]): ObservedRun['messages'] =>
  texts.map((text, index) => ({ id: `${id}-${index}`, isFromAgent: true, text }));
const hears = (id: string, ...texts: string[]): ObservedRun['messages'] =>
  texts.map((text, index) => ({ id: `${id}-sent-${index}`, isFromAgent: false, text }));

/** What a service that keeps all promises shows: a run of each kind, two cases, and a schedule that fired twice. */
function soundObservation(): Mutable {
  const item = messageOf(0);
  const run = (id: string, number: number, agent: ObservedRun['agent'], messages: ObservedRun['messages']): ObservedRun => {
    const source = agent === 'case' ? 'case_queue' : agent === 'scheduled' ? 'schedule' : 'api';
    return { id, number, agent, source, status: 'completed', createdAt: start, messages, requests: [] };
  };
  const asking = run('a', 1, 'asking', [...hears('a', item), ...says('a', `one ${item}`, `two ${answerOf(item)}`, 'three true')]);
  asking.requests.push({ id: 'q', status: 'answered', response: answerOf(item) }, { id: 'p', status: 'answered', response: 'approved' });
  const again = messageOf(1);
  const talking = run('t', 2, 'talking', [
    ...hears('t', again, `${again}-again`),
    ...says('t', 'begin', `end 1 ${again}`, 'begin', `end 2 ${again}-again`),
  ]);
  const cases = [messageOf(2), `from ${item}`].map((title, index) => ({ id: `c${index}`, title, status: 'completed' }));
  const caseRuns = cases.map(({ title }, index) =>
    run(`k${index}`, 3 + index, 'case', [...hears(`k${index}`, title), ...says(`k${index}`, `took ${title}`)]),
  );
  const fired = [1, 2].map((index) => ({
    ...run(`s${index}`, 4 + index, 'scheduled', [...hears(`s${index}`, 'schedule 0'), ...says(`s${index}`, 'scheduled')]),
    createdAt: start + index * minute + 200,
  }));
  const runs = [asking, talking, ...caseRuns, ...fired];
  const received: ReceivedEvent[] = [];
  const receive = (type: string, data: ReceivedEvent['data']): void => {
    const id = `e${received.length}`;
    received.push({ id, type, body: JSON.stringify({ id, type }), isSigned: true, isAccepted: true, data });
  };
  for (const { id, messages, requests } of runs) {
    for (const type of ['run.started', 'run.completed']) receive(type, { run: { id } });
    for (const { id: message, isFromAgent } of messages) if (isFromAgent) receive('run.message.created', { message: { id: message } });
    for (const { id: request } of requests)
      for (const type of ['human_request.created', 'human_request.responded']) receive(type, { human_request: { id: request } });
  }
  for (const { id } of cases) for (const type of ['created', 'claimed', 'completed']) receive(`queue.case.${type}`, { case: { id } });
  return {
    acknowledged: [
      { kind: 'run', item: 0, run: 'a', number: 1 },
      { kind: 'answer', run: 'a', request: 'q', response: answerOf(item) },
      { kind: 'run', item: 1, run: 't', number: 2 },
      { kind: 'message', run: 't', text: `${again}-again` },
      { kind: 'case', item: 2, case: 'c0' },
    ],
    ...{ runs, cases, received, remembered: [item], skipped: [], readAt: start + 2.5 * minute },
    deliveries: received.map(({ id, type }) => ({ eventId: id, event: type, status: 'delivered' })),
    schedules: [{ id: 's', task: 'schedule 0', createdAt: start + 1, nextAt: start + 3 * minute }],
  };
}

const runIn = ({ runs }: Mutable, id: string): ObservedRun => runs.find((run) => run.id === id) as ObservedRun;

/** The properties that a change of the sound observation violates. */
function violatedAfter(change: Change): string[] {
  const observation = soundObservation();
  change(observation);
  return Object.entries(violationsOf(observation)).flatMap(([property, found]) => (found.length === 0 ? [] : [property]));
}

describe('the properties of a chaos run', () => {
  it('hold for a service that keeps its promises', () => {
    expect(violationsOf(soundObservation())).toEqual(Object.fromEntries(Object.keys(properties).map((property) => [property, []])));
  });

  it.each<[string, Property, Change]>([
    ['a run that was acknowledged with another number', 'lost', (all) => Object.assign(runIn(all, 'a'), { number: 9 })],
    ['a message that is missing', 'lost', (all) => runIn(all, 't').messages.splice(1, 1)],
    ['an answer that was replaced', 'lost', (all) => Object.assign(runIn(all, 'a').requests[0] as object, { response: 'other' })],
    ['an answer that is pending again', 'lost', (all) => Object.assign(runIn(all, 'a').requests[0] as object, { status: 'pending' })],
    ['a case that is missing', 'lost', (all) => all.cases.shift()],
    ['a step that was journalled twice', 'repeated', (all) => runIn(all, 'a').messages.push(...says('x', 'three true'))],
    ['a step that was left out', 'repeated', (all) => runIn(all, 'a').messages.splice(1, 1)],
    ['a message that was stored twice', 'repeated', (all) => runIn(all, 't').messages.push(...hears('x', `${messageOf(1)}-again`))],
    ['a last turn that did not see a message', 'repeated', (all) => runIn(all, 't').messages.splice(4, 2)],
    ['a question that was asked twice', 'repeated', (all) => runIn(all, 'a').requests.push({ id: 'r', status: 'answered', response: '' })],
    ['a start that was executed twice', 'repeated', (all) => all.runs.push({ ...runIn(all, 't'), id: 'u', number: 9 })],
    ['a case that was created twice', 'repeated', (all) => all.cases.push({ id: 'c9', title: messageOf(2), status: 'completed' })],
    ['a case that two runs took', 'repeated', (all) => all.runs.push({ ...runIn(all, 'k0'), id: 'k9', number: 9 })],
    ['a line that was remembered twice', 'repeated', (all) => all.remembered.push(messageOf(0))],
    ['a run number of two runs', 'numbers', (all) => Object.assign(runIn(all, 's1'), { number: 1 })],
    ['a run that never ends', 'stuck', (all) => Object.assign(runIn(all, 'k0'), { status: 'running' })],
    ['a run that failed', 'stuck', (all) => Object.assign(runIn(all, 's1'), { status: 'failed' })],
    ['a case that nobody takes', 'stuck', (all) => Object.assign(all.cases[1] as object, { status: 'pending' })],
    ['an event that was never sent', 'deliveries', (all) => Object.assign(all, { received: all.received.slice(1) })],
    ['an event that was always refused', 'deliveries', (all) => Object.assign(all.received[3] as object, { isAccepted: false })],
    ['an event that was recorded twice', 'deliveries', (all) => all.received.push({ ...(all.received[0] as ReceivedEvent), id: 'e99' })],
    ['a body that changed', 'deliveries', (all) => all.received.push({ ...(all.received[0] as ReceivedEvent), body: '{}' })],
    ['a wrong signature', 'deliveries', (all) => Object.assign(all.received[0] as object, { isSigned: false })],
    ['a delivery that is still queued', 'deliveries', (all) => Object.assign(all.deliveries[0] as object, { status: 'pending' })],
    ['a scheduled time that fired twice', 'schedules', (all) => Object.assign(runIn(all, 's2'), { createdAt: start + minute + 900 })],
    ['a scheduled time that fired too early', 'schedules', (all) => Object.assign(runIn(all, 's1'), { createdAt: start + 100 })],
    ['a scheduled time that was left out', 'schedules', (all) => Object.assign(runIn(all, 's2'), { createdAt: start + 5 * minute })],
    ['a schedule that ended', 'schedules', (all) => Object.assign(all, { readAt: start + 7 * minute })],
    ['a schedule without a next time', 'schedules', (all) => Object.assign(all.schedules[0] as object, { nextAt: null })],
  ])('do not hold with %s', (_, property, change) => {
    expect(violatedAfter(change)).toContain(property);
  });

  it('permit a scheduled time that the clock has skipped to fire with the next one', () => {
    const skip: Change = (all) => {
      all.skipped.push({ from: start + 1.5 * minute, to: start + 3.5 * minute });
      Object.assign(runIn(all, 's2'), { createdAt: start + 3.6 * minute });
      Object.assign(all, { readAt: start + 3.9 * minute });
    };
    expect(violatedAfter(skip)).toEqual([]);
  });

  it('permit a message to arrive before a run begins, so that there is one turn', () => {
    const early: Change = (all) => runIn(all, 't').messages.splice(2, 2);
    expect(violatedAfter((all) => early(all))).toEqual([]);
  });
});
