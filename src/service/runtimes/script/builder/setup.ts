/** What has to be set up so that a changed procedure can run. The proposal lists it; accepting does not set anything up. */
import type { ExecLevel } from '../../../sandbox/launch.ts';
import type { BuildRequest, SetupChange } from '../../builder.ts';
import type { Procedure, Step, StepOf } from '../schema.ts';
import { type Schedule, scheduleWords } from './schedule.ts';

const secretName = /\$\{?([A-Z][A-Z0-9_]*(?:TOKEN|KEY|SECRET|PASSWORD|CREDENTIALS?)[A-Z0-9_]*)\}?/g;
const fileName = /(?<![\w./>-])(?<!>\s*)([\w][\w./-]*\.(?:csv|tsv|json|ya?ml|txt|md|xml|pdf|xlsx?|zip|png|jpe?g|webp))(?![\w/])/gi;

/** What the service supports. */
type Abilities = Pick<BuildRequest, 'exec' | 'browsing' | 'connections'>;

/** What the proposal needs and the previous procedure did not. */
export function setupChanges(
  before: Procedure | undefined,
  after: Procedure,
  abilities: Abilities,
  schedules: readonly Schedule[],
): SetupChange[] {
  const previous = new Set((before ? requiredChanges(before, abilities) : []).map(keyOf));
  return [...requiredChanges(after, abilities).filter((need) => !previous.has(keyOf(need))), ...schedules.map(scheduleNeed)];
}

const keyOf = ({ type, name }: SetupChange): string => `${type} ${name}`;

function requiredChanges({ steps }: Procedure, { exec, browsing, connections }: Abilities): SetupChange[] {
  const changes = new Map<string, SetupChange>();
  const writtenPaths = new Set<string>();
  const need = (change: SetupChange): void => void (changes.has(keyOf(change)) || changes.set(keyOf(change), change));
  for (const step of steps) {
    if (step.kind === 'exec') for (const change of commandNeeds(step, exec, writtenPaths)) need(change);
    if (step.kind === 'tool') need(connection(step, connections));
    if (step.kind === 'screenshot' && !writtenPaths.has(step.payload.path)) need(file(step, step.payload.path));
    if (step.kind === 'browse') need(browser(step, browsing));
    if (step.kind === 'write') writtenPaths.add(step.payload.path);
  }
  return [...changes.values()];
}

function commandNeeds(step: StepOf<'exec'>, exec: ExecLevel, writtenPaths: Set<string>): SetupChange[] {
  const { run } = step.payload;
  const changes: SetupChange[] = [
    {
      type: 'exec',
      name: 'exec',
      title: 'Commands must be allowed',
      description: `Step ${step.number} runs a command. The service runs commands only when it is started with --exec auto, contained, or host.`,
      satisfied: exec !== 'off',
    },
  ];
  for (const [, name] of run.matchAll(secretName)) {
    changes.push({
      type: 'secret',
      name: name as string,
      title: `The secret ${name}`,
      description: `Step ${step.number} reads $${name}. Commands do not get the environment variables of the service: let the command read the secret from where it is stored.`,
      satisfied: false,
    });
  }
  for (const [, name] of run.matchAll(/>{1,2}\s*([\w][\w./-]*)/g)) writtenPaths.add(name as string);
  for (const [, name] of run.matchAll(fileName)) if (!writtenPaths.has(name as string)) changes.push(file(step, name as string));
  return changes;
}

const file = (step: Step, name: string): SetupChange => ({
  type: 'file',
  name,
  title: `The file ${name}`,
  description: `Step ${step.number} reads this file, and no earlier step writes it. Upload it to each run: aops runs start --upload ${name}.`,
  satisfied: false,
});

function connection({ number, payload }: StepOf<'tool'>, connections: readonly string[]): SetupChange {
  const name = payload.connection ?? (payload.name.split('.')[0] as string);
  const title = `A connection to ${name}`;
  if (payload.connection === undefined) {
    const description = `Step ${number} only shows a call to ${payload.name}. To make the call, connect to the system (aops connections create) and name the connection in the step.`;
    return { type: 'connection', name, title, description, satisfied: false };
  }
  const description = `Step ${number} calls its tool ${payload.name}. Create the connection with aops connections create ${name}.`;
  return { type: 'connection', name, title, description, satisfied: connections.includes(name) };
}

const browser = (step: Step, browsing: boolean): SetupChange => ({
  type: 'browser',
  name: 'browser',
  title: 'A browser',
  description: `Step ${step.number} opens pages. This needs Chromium, and a service that is not started with --browse off.`,
  satisfied: browsing,
});

function scheduleNeed(schedule: Schedule): SetupChange {
  return {
    type: 'schedule',
    name: scheduleWords(schedule),
    title: `A schedule: ${scheduleWords(schedule)}`,
    description: 'A procedure cannot contain a schedule. Schedules belong to the agent: create one with aops agents schedules create.',
    satisfied: false,
    schedule: {
      frequency: schedule.frequency,
      time: schedule.time ?? null,
      day: schedule.day ?? null,
      day_of_month: schedule.dayOfMonth ?? null,
    },
  };
}
