/** What a procedure can contain: the payload of every step, defined once for validation, types, and the published JSON Schema. */
import Type, { type Static, type TProperties } from 'typebox';
import { casePriorities } from '../../../interface/case-status.ts';
import { Closed } from '../../../interface/schemas/common.ts';
import { durationPattern, idPattern } from '../document/patterns.ts';

/** Limits of a procedure: the bytes of its text, and its steps. */
export const maxProcedureBytes = 1024 * 1024;
export const maxSteps = 1_000;
/** Outputs and tags of one template, and of all templates: parsing very many takes seconds. */
export const maxOutputs = { template: 1_000, procedure: 10_000 };
/** The maximum and the default timeout of a `tool` step, in milliseconds. */
export const maxToolTimeout = 600_000;
export const defaultTool = 60_000;
/** The maximum and the default timeout of an `exec` step, in milliseconds. */
export const maxExecTimeout = 600_000;
export const defaultExec = 60_000;
/** The maximum and the default timeout of an action of a `browse` step, in milliseconds. */
export const maxBrowseTimeout = 300_000;
export const defaultBrowse = 15_000;
/** The largest number of actions of a `browse` step. */
const maxActions = 100;
/** The longest `sleep` and `takes`, in milliseconds: a year. */
export const maxSleep = 365 * 86_400_000;

const describe = <T extends TProperties>(description: string, properties: T) =>
  Type.Object(properties, { additionalProperties: false, description });
const Text = (description: string) => Type.String({ description });
const FilledText = (description: string) => Type.String({ minLength: 1, description });
const Id = (description: string) => Type.String({ pattern: idPattern, description });
const Duration = (description: string) =>
  Type.String({ pattern: durationPattern, description: `${description} For example 300ms, 2s, 1m30s, or 2h.` });
const Choice = <const T extends string[]>(words: T, description: string) =>
  Type.Union(words.map((word) => Type.Literal(word)) as { [K in keyof T]: ReturnType<typeof Type.Literal<T[K]>> }, { description });

const Question = describe('A question. Without options, the answer is a text.', {
  question: FilledText('The question, as it is shown to people.'),
  header: Type.Optional(FilledText('A short name. If there are several questions, the answer is also available under it.')),
  options: Type.Optional(
    Type.Array(
      describe('A possible answer.', { label: FilledText('The answer.'), description: Type.Optional(Text('What choosing it means.')) }),
      { minItems: 1, maxItems: 100, description: 'The answers to choose from.' },
    ),
  ),
  multi_select: Type.Optional(Type.Boolean({ description: 'Whether several options can be chosen.' })),
});

const Selector = (description: string) =>
  FilledText(`${description} A selector, such as \`#pay\`, \`text=Pay\`, or \`role=button[name="Pay"]\`.`);

const BrowseAction = Type.Object(
  {
    open: Type.Optional(FilledText('Opens a URL that begins with http:// or https://.')),
    click: Type.Optional(Selector('Clicks an element.')),
    fill: Type.Optional(describe('Replaces the text in a field.', { selector: Selector('The field.'), text: Text('The text.') })),
    press: Type.Optional(FilledText('Presses a key, such as: Enter, Escape, Control+A.')),
    select: Type.Optional(
      describe('Chooses an option from a list.', {
        selector: Selector('The list.'),
        option: FilledText('The label or the value of the option.'),
      }),
    ),
    upload: Type.Optional(
      describe('Uploads a file from the workspace through a file field.', {
        selector: Selector('The field.'),
        path: FilledText('The file, at most 10 MiB.'),
      }),
    ),
    wait_for: Type.Optional(
      describe('Waits for one thing to happen.', {
        selector: Type.Optional(Selector('An element is visible.')),
        text: Type.Optional(FilledText('The page contains this text.')),
        url: Type.Optional(FilledText('The page has this URL; * matches any text.')),
        gone: Type.Optional(Selector('No such element is visible any more.')),
      }),
    ),
    extract: Type.Optional(
      describe('Reads from the page.', {
        name: Id('The value is available as steps.<id>.extracted.<name>.'),
        selector: Selector('The element whose text is read.'),
        attribute: Type.Optional(FilledText('Read this attribute instead of the text; `value` is the current content of a field.')),
        all: Type.Optional(Type.Boolean({ description: 'Read all elements that match, as a list.' })),
      }),
    ),
    screenshot: Type.Optional(FilledText('Takes a screenshot with this title.')),
    download: Type.Optional(
      describe('Clicks an element and saves what it downloads.', {
        click: Selector('The element.'),
        path: Type.Optional(FilledText('The path in the workspace; by default, downloads/ and the name that the page suggests.')),
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1, description: 'One action.' },
);

/** The payload of each step, by the key that names the step. */
export const stepSchemas = {
  say: Text('Sends a text as a message.'),
  tool: describe('Calls a tool of a connection. Without a connection, only shows a call and its result.', {
    id: Type.Optional(Id('The result is available as steps.<id>; for a connection: structured, text, content, and error.')),
    connection: Type.Optional(FilledText('The connection whose tool is called, by name or ID.')),
    name: FilledText('The name of the tool.'),
    arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'The arguments of the call.' })),
    result: Type.Optional(Type.Unknown({ description: 'The result of the call without a connection: any value.' })),
    error: Type.Optional(FilledText('The error of the call without a connection, instead of a result. The run continues.')),
    takes: Type.Optional(Duration('How long the call takes, without a connection.')),
    timeout: Type.Optional(Duration('How long the connection may take: at most 10m, by default 60s.')),
    on_error: Type.Optional(
      Choice(['fail', 'continue'], 'What happens when the connection or its tool fails: the run fails (the default) or continues.'),
    ),
  }),
  exec: describe('Runs a shell command in the workspace of the run.', {
    id: Type.Optional(Id('exit_code, stdout, and stderr are available in steps.<id>.')),
    run: FilledText('The command, for /bin/sh. Template output is quoted for the shell.'),
    timeout: Type.Optional(Duration('The command is terminated after this time: at most 10m, by default 60s.')),
    on_error: Type.Optional(Choice(['fail', 'continue'], 'What happens when the command fails: the run fails (the default) or continues.')),
  }),
  write: describe('Writes a file in the workspace, from a text or as JSON.', {
    path: FilledText('The path below /workspace. Missing directories are created.'),
    content: Type.Optional(Text('The text of the file.')),
    json: Type.Optional(Type.Unknown({ description: 'A value that is written as JSON.' })),
  }),
  remember: describe('Writes a memory file of the agent, which later runs can read.', {
    path: FilledText('Its path, such as notes.md or suppliers/acme.md. It is available as memory["notes.md"].'),
    content: Type.Optional(Text('The text of the file.')),
    json: Type.Optional(Type.Unknown({ description: 'A value that is written as JSON.' })),
    append: Type.Optional(Type.Boolean({ description: 'Whether to append to an existing file, on a new line.' })),
  }),
  ask: describe('Asks a person one or more questions and waits for the answers.', {
    id: Id('The answer is available as answers.<id>.'),
    title: Type.Optional(FilledText('The title of the request in lists; by default, the question.')),
    questions: Type.Array(Question, { minItems: 1, maxItems: 20, description: 'The questions, which are answered together.' }),
  }),
  approve: describe('Asks a person for approval and waits for the decision.', {
    id: Id('The decision is available as answers.<id>, a boolean.'),
    title: FilledText('What should be approved.'),
    description: Type.Optional(Text('What a person needs to know for the decision.')),
    on_deny: Type.Optional(
      Type.Union(
        [
          Type.Literal('fail'),
          Type.Literal('continue'),
          Type.Literal('stop'),
          Closed({
            say: Type.Optional(FilledText('A message that is sent after the denial.')),
            fail: Type.Optional(FilledText('The run fails with this error; without it, the run completes.')),
          }),
        ],
        { description: 'What happens on a denial: the run fails (the default), continues, or completes here.' },
      ),
    ),
  }),
  screenshot: describe('Shows an image from the workspace as a screenshot.', {
    id: Type.Optional(Id('path, mime_type, and size are available in steps.<id>.')),
    path: FilledText('A PNG, JPEG, or WebP file in the workspace.'),
    action: Type.Optional(FilledText('The action that the screenshot shows, such as: click.')),
    title: Type.Optional(FilledText('What the screenshot shows.')),
    url: Type.Optional(FilledText('The URL of the page in the screenshot.')),
  }),
  browse: describe(
    'Opens pages in a browser and performs actions on them. Every action is recorded with screenshots before and after it.',
    {
      id: Type.Optional(Id('url, title, status, extracted, downloads, console_errors, and error are available in steps.<id>.')),
      url: Type.Optional(FilledText('The page to start with. Without it, the step continues on the current page.')),
      actions: Type.Optional(Type.Array(BrowseAction, { minItems: 1, maxItems: maxActions, description: 'The actions, in order.' })),
      viewport: Type.Optional(
        describe('The size of the page. The default is 1280 x 800.', {
          width: Type.Integer({ minimum: 200, maximum: 4096, description: 'Pixels.' }),
          height: Type.Integer({ minimum: 200, maximum: 4096, description: 'Pixels.' }),
        }),
      ),
      full_page: Type.Optional(Type.Boolean({ description: 'Whether `screenshot` shows the whole page instead of the visible part.' })),
      dialogs: Type.Optional(Choice(['dismiss', 'accept'], 'What happens to dialogs of the page. They are dismissed by default.')),
      timeout: Type.Optional(Duration('How long each action may wait for the page: at most 5m, by default 15s.')),
      on_error: Type.Optional(
        Choice(['fail', 'continue'], 'What happens when an action fails: the run fails (the default) or continues with the next step.'),
      ),
    },
  ),
  sleep: Duration('Waits. A restart of the service does not extend the wait.'),
  fail: FilledText('Fails the run with this error.'),
  complete_case: Text('Completes the case that the run works on, with this note. The run continues.'),
  fail_case: FilledText('Fails the case that the run works on, for this reason. The run continues.'),
  postpone_case: describe('Puts the case back into its queue for a while, and completes the run here.', {
    for: Type.Optional(Duration('How long to postpone the case.')),
    until: Type.Optional(
      FilledText('When the case is due again: a date, or a date and time with a time zone, such as 2026-07-18T09:30:00Z.'),
    ),
    reason: Type.Optional(FilledText('Why.')),
  }),
  create_case: describe('Adds a case to a queue.', {
    id: Type.Optional(Id('id, queue, and title of the case are available in steps.<id>.')),
    queue: FilledText('The name of the queue.'),
    title: FilledText('The title of the case, at most 500 characters.'),
    data: Type.Optional(Text('What the agent that works on the case needs to know.')),
    json: Type.Optional(Type.Unknown({ description: 'The data as a value, which is written as JSON.' })),
    labels: Type.Optional(
      Type.Record(Type.String(), Type.Union([FilledText('The value.'), Type.Array(FilledText('A value.'))]), {
        description: 'Labels by key; the empty key is for labels without a key.',
      }),
    ),
    priority: Type.Optional(Choice([...casePriorities], 'Cases with a higher priority are taken first. The default is `none`.')),
    agent: Type.Optional(FilledText('The name of the only agent that can take the case: a handover target of the revision.')),
  }),
} as const;

export type StepKind = keyof typeof stepSchemas;
export type Payload<K extends StepKind> = Static<(typeof stepSchemas)[K]>;

/** One step of a procedure. */
export interface StepOf<K extends StepKind> {
  kind: K;
  payload: Payload<K>;
  /** Position in the procedure, counted from 1. */
  number: number;
  /** Journal key, such as `2-exec`. */
  key: string;
  /** Line in the procedure's text. */
  line: number;
  /** The step is skipped unless this is true. */
  condition?: string;
}
export type Step = { [K in StepKind]: StepOf<K> }[StepKind];

export interface Procedure {
  steps: Step[];
}

export const stepKinds = Object.keys(stepSchemas) as StepKind[];
/** What a step does, in a sentence. */
export const stepDescription = (kind: StepKind): string => (stepSchemas[kind] as { description?: string }).description ?? '';
/** The keys of a procedure, and the keys of a step in addition to its kind. */
export const procedureKeys = ['version', 'description', 'steps'];
export const conditionKey = 'if';

/** The JSON Schema (2020-12) of procedures, published as docs/procedure.schema.json. */
export function procedureJsonSchema(): Record<string, unknown> {
  const condition = Type.Union([Type.String({ minLength: 1 }), Type.Boolean()], {
    description: 'The step is skipped unless this is true, such as: answers.pay and steps.count.exit_code == 0',
  });
  const steps = stepKinds.map((kind) => ({
    ...Closed({ [kind]: stepSchemas[kind], [conditionKey]: Type.Optional(condition) }),
    title: kind,
  }));
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'aops procedure',
    description: 'The steps of an agent that the script runtime executes.',
    ...Closed({
      version: Type.Literal(1),
      description: Type.Optional(Text('What the procedure is for.')),
      steps: Type.Array(Type.Union(steps), { minItems: 1, maxItems: maxSteps, description: 'The actions, in order.' }),
    }),
  };
  // Only what JSON contains: TypeBox adds more to its objects.
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
}
