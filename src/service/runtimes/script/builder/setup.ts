/** What has to be set up, because of a change, for a procedure to run: told beside the proposal, never done by it. */
import type { BuildRequest, SetupChange } from '../../runtime.ts';
import type { Procedure, Step, StepOf } from '../schema.ts';
import { type Schedule, scheduleWords } from './schedule.ts';

const secretName = /\$\{?([A-Z][A-Z0-9_]*(?:TOKEN|KEY|SECRET|PASSWORD|CREDENTIALS?)[A-Z0-9_]*)\}?/g;
const fileName = /(?<![\w./>-])(?<!>\s*)([\w][\w./-]*\.(?:csv|tsv|json|ya?ml|txt|md|xml|pdf|xlsx?|zip|png|jpe?g|webp))(?![\w/])/gi;

/** What the service can do. */
type Abilities = Pick<BuildRequest, 'exec' | 'browsing' | 'connections'>;

/** What the proposal needs and the procedure before it did not. */
export function setupChanges(
  before: Procedure | undefined,
  after: Procedure,
  abilities: Abilities,
  schedules: readonly Schedule[],
): SetupChange[] {
  const had = new Set((before ? needs(before, abilities) : []).map(keyOf));
  return [...needs(after, abilities).filter((need) => !had.has(keyOf(need))), ...schedules.map(scheduleNeed)];
}

const keyOf = ({ type, name }: SetupChange): string => `${type} ${name}`;

function needs({ steps }: Procedure, { exec, browsing, connections }: Abilities): SetupChange[] {
  const found = new Map<string, SetupChange>();
  const written = new Set<string>();
  const need = (change: SetupChange): void => void (found.has(keyOf(change)) || found.set(keyOf(change), change));
  for (const step of steps) {
    if (step.kind === 'exec') for (const change of commandNeeds(step, exec, written)) need(change);
    if (step.kind === 'tool') need(connection(step, connections));
    if (step.kind === 'screenshot' && !written.has(step.payload.path)) need(file(step, step.payload.path));
    if (step.kind === 'browse') need(browser(step, browsing));
    if (step.kind === 'write') written.add(step.payload.path);
  }
  return [...found.values()];
}

function commandNeeds(step: StepOf<'exec'>, exec: 'host' | 'off', written: Set<string>): SetupChange[] {
  const { run } = step.payload;
  const changes: SetupChange[] = [
    {
      type: 'exec',
      name: 'exec',
      title: 'Commands must be allowed',
      description: `Step ${step.number} runs a command. A service runs commands when it was started with --exec host.`,
      satisfied: exec === 'host',
    },
  ];
  for (const [, name] of run.matchAll(secretName)) {
    changes.push({
      type: 'secret',
      name: name as string,
      title: `The secret ${name}`,
      description: `Step ${step.number} reads $${name}. Commands get no variable of the service: let the command read it from where it is kept.`,
      satisfied: false,
    });
  }
  for (const [, name] of run.matchAll(/>{1,2}\s*([\w][\w./-]*)/g)) written.add(name as string);
  for (const [, name] of run.matchAll(fileName)) if (!written.has(name as string)) changes.push(file(step, name as string));
  return changes;
}

const file = (step: Step, name: string): SetupChange => ({
  type: 'file',
  name,
  title: `The file ${name}`,
  description: `Step ${step.number} reads it and no step before it writes it. Give it to each run: aops runs start --upload ${name}.`,
  satisfied: false,
});

function connection({ number, payload }: StepOf<'tool'>, known: readonly string[]): SetupChange {
  const name = payload.connection ?? (payload.name.split('.')[0] as string);
  const title = `A connection to ${name}`;
  if (payload.connection === undefined) {
    const description = `Step ${number} shows a call of ${payload.name} and makes none. To make it, connect to the system (aops connections create) and name the connection in the step.`;
    return { type: 'connection', name, title, description, satisfied: false };
  }
  const description = `Step ${number} calls its tool ${payload.name}. Make the connection with aops connections create ${name}.`;
  return { type: 'connection', name, title, description, satisfied: known.includes(name) };
}

const browser = (step: Step, browsing: boolean): SetupChange => ({
  type: 'browser',
  name: 'browser',
  title: 'A browser',
  description: `Step ${step.number} opens pages. The service needs a Chromium for it, and must not have been started with --browse off.`,
  satisfied: browsing,
});

function scheduleNeed(schedule: Schedule): SetupChange {
  return {
    type: 'schedule',
    name: scheduleWords(schedule),
    title: `A schedule: ${scheduleWords(schedule)}`,
    description: 'A procedure has no times of its own. The schedule belongs to the agent, and is made when you make it.',
    satisfied: false,
    schedule: {
      frequency: schedule.frequency,
      time: schedule.time ?? null,
      day: schedule.day ?? null,
      day_of_month: schedule.dayOfMonth ?? null,
    },
  };
}
