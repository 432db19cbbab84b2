/** What a procedure may contain: every step's payload, described once for validation, for types and for the published JSON Schema. */
import Type, { type Static, type TProperties } from 'typebox';
import { casePriorities } from '../../../interface/case-status.ts';
import { Closed } from '../../../interface/schemas/common.ts';

/** Limits of a procedure. Bytes of its text, and steps. */
export const longestProcedure = 1024 * 1024;
export const mostSteps = 1_000;
/** Outputs and tags of one template, and of all templates: reading very many takes seconds. */
export const mostOutputs = { template: 1_000, procedure: 10_000 };
/** The longest time a `tool` step may ask its connection for, and what it gets without asking. Milliseconds. */
export const longestTool = 600_000;
export const defaultTool = 60_000;
/** The longest time an `exec` step may ask for, and what it gets without asking. Milliseconds. */
export const longestExec = 600_000;
export const defaultExec = 60_000;
/** How long an action of a `browse` step may wait, at most and without asking. Milliseconds. */
export const longestBrowse = 300_000;
export const defaultBrowse = 15_000;
/** Actions of a `browse` step. */
const mostActions = 100;
/** The longest `sleep` and `takes`, in milliseconds: a year. */
export const longestSleep = 365 * 86_400_000;

export const idPattern = '^[A-Za-z][A-Za-z0-9_]{0,63}$';
export const durationPattern = '^(0|(\\d+(\\.\\d+)?(ms|s|m|h|d))+)$';

const describe = <T extends TProperties>(description: string, properties: T) =>
  Type.Object(properties, { additionalProperties: false, description });
const Text = (description: string) => Type.String({ description });
const FilledText = (description: string) => Type.String({ minLength: 1, description });
const Id = (description: string) => Type.String({ pattern: idPattern, description });
const Duration = (description: string) =>
  Type.String({ pattern: durationPattern, description: `${description} Like 300ms, 2s, 1m30s or 2h.` });
const Choice = <const T extends string[]>(words: T, description: string) =>
  Type.Union(words.map((word) => Type.Literal(word)) as { [K in keyof T]: ReturnType<typeof Type.Literal<T[K]>> }, { description });

const Question = describe('One question. Without options it is answered with a text.', {
  question: FilledText('The question, as people read it.'),
  header: Type.Optional(FilledText('A short name; with several questions the answer is also found under it.')),
  options: Type.Optional(
    Type.Array(
      describe('An answer to choose.', { label: FilledText('The answer.'), description: Type.Optional(Text('What choosing it means.')) }),
      { minItems: 1, maxItems: 100, description: 'The answers to choose from.' },
    ),
  ),
  multi_select: Type.Optional(Type.Boolean({ description: 'Whether several options may be chosen.' })),
});

const Selector = (description: string) =>
  FilledText(`${description} A selector, such as \`#pay\`, \`text=Pay\` or \`role=button[name="Pay"]\`.`);

const BrowseAction = Type.Object(
  {
    open: Type.Optional(FilledText('Opens an address that begins with http:// or https://.')),
    click: Type.Optional(Selector('Clicks an element.')),
    fill: Type.Optional(
      describe('Writes a text into a field, in place of what is in it.', { selector: Selector('The field.'), text: Text('The text.') }),
    ),
    press: Type.Optional(FilledText('Presses a key, such as: Enter, Escape, Control+A.')),
    select: Type.Optional(
      describe('Chooses an option of a list.', {
        selector: Selector('The list.'),
        option: FilledText('The label or the value of the option.'),
      }),
    ),
    upload: Type.Optional(
      describe('Gives a file of the workspace to a file field.', {
        selector: Selector('The field.'),
        path: FilledText('The file, 10 MiB at most.'),
      }),
    ),
    wait_for: Type.Optional(
      describe('Waits for one thing to happen.', {
        selector: Type.Optional(Selector('An element is there and can be seen.')),
        text: Type.Optional(FilledText('The page says this.')),
        url: Type.Optional(FilledText('The page has this address; * stands for any text.')),
        gone: Type.Optional(Selector('No such element can be seen any more.')),
      }),
    ),
    extract: Type.Optional(
      describe('Reads from the page.', {
        name: Id('The value is found in steps.<id>.extracted.<name>.'),
        selector: Selector('The element to read the text of.'),
        attribute: Type.Optional(FilledText('Read this attribute instead of the text; `value` is what a field holds now.')),
        all: Type.Optional(Type.Boolean({ description: 'Read all elements that match, as a list.' })),
      }),
    ),
    screenshot: Type.Optional(FilledText('Takes a picture, which has this title.')),
    download: Type.Optional(
      describe('Clicks an element and saves what it downloads.', {
        click: Selector('The element.'),
        path: Type.Optional(FilledText('Where in the workspace; downloads/ and the name that the page gives, unless given.')),
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1, description: 'One action.' },
);

/** The payload of each step, by the key that names the step. */
export const stepSchemas = {
  say: Text('Says a text.'),
  tool: describe('Calls a tool of a connection. Without a connection it shows a call and its result, and calls nothing.', {
    id: Type.Optional(Id('The result is found in steps.<id>; of a connection: structured, text, content and error.')),
    connection: Type.Optional(FilledText('The connection whose tool is really called, by its name or id.')),
    name: FilledText('The name of the tool.'),
    arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'What the tool is called with.' })),
    result: Type.Optional(Type.Unknown({ description: 'What it answers, without a connection: any value.' })),
    error: Type.Optional(FilledText('What it fails with, without a connection and instead of a result. The run goes on.')),
    takes: Type.Optional(Duration('How long the call takes, without a connection.')),
    timeout: Type.Optional(Duration('How long the connection may take. 60s unless given, 10m at most.')),
    on_error: Type.Optional(
      Choice(['fail', 'continue'], 'What happens when the connection or its tool fails: the run fails (unless given), or goes on.'),
    ),
  }),
  exec: describe('Runs a shell command in the workspace of the run.', {
    id: Type.Optional(Id('exit_code, stdout and stderr are found in steps.<id>.')),
    run: FilledText('The command, for /bin/sh. What templates put in is quoted for the shell.'),
    timeout: Type.Optional(Duration('After this time the command is ended. 60s unless given, 10m at most.')),
    on_error: Type.Optional(Choice(['fail', 'continue'], 'What happens when the command fails: the run fails (unless given), or goes on.')),
  }),
  write: describe('Writes a file of the workspace, from a text or as JSON.', {
    path: FilledText('Where, below /workspace. Directories are made as needed.'),
    content: Type.Optional(Text('The text of the file.')),
    json: Type.Optional(Type.Unknown({ description: 'A value that is written as JSON.' })),
  }),
  remember: describe('Writes a memory file of the agent, which later runs can read.', {
    path: FilledText('Its path, such as notes.md or suppliers/acme.md. It is found in memory["notes.md"].'),
    content: Type.Optional(Text('The text of the file.')),
    json: Type.Optional(Type.Unknown({ description: 'A value that is written as JSON.' })),
    append: Type.Optional(Type.Boolean({ description: 'Whether it is added to what is there, on a line of its own.' })),
  }),
  ask: describe('Asks a person one or several questions and waits for the answer.', {
    id: Id('The answer is found in answers.<id>.'),
    title: Type.Optional(FilledText('What the request is called in lists; the question unless given.')),
    questions: Type.Array(Question, { minItems: 1, maxItems: 20, description: 'The questions, which are answered together.' }),
  }),
  approve: describe('Asks a person for approval and waits for the decision.', {
    id: Id('The decision is found in answers.<id>, a boolean.'),
    title: FilledText('What is to be approved.'),
    description: Type.Optional(Text('What a person should know to decide.')),
    on_deny: Type.Optional(
      Type.Union(
        [
          Type.Literal('fail'),
          Type.Literal('continue'),
          Type.Literal('stop'),
          Closed({
            say: Type.Optional(FilledText('Said after the denial.')),
            fail: Type.Optional(FilledText('The run fails with this text; without it the run completes.')),
          }),
        ],
        { description: 'What happens when a person denies: the run fails (unless given), goes on, or completes here.' },
      ),
    ),
  }),
  screenshot: describe('Shows a picture from the workspace as a screenshot.', {
    id: Type.Optional(Id('path, mime_type and size are found in steps.<id>.')),
    path: FilledText('A PNG, JPEG or WebP file in the workspace.'),
    action: Type.Optional(FilledText('What was done, such as: click.')),
    title: Type.Optional(FilledText('What the picture shows.')),
    url: Type.Optional(FilledText('The page it shows.')),
  }),
  browse: describe('Opens pages in a browser and does things on them. Every action is recorded with pictures before and after it.', {
    id: Type.Optional(Id('url, title, status, extracted, downloads, console_errors and error are found in steps.<id>.')),
    url: Type.Optional(FilledText('The page to begin with. Without it the run goes on with the page where it was.')),
    actions: Type.Optional(Type.Array(BrowseAction, { minItems: 1, maxItems: mostActions, description: 'What is done, in this order.' })),
    viewport: Type.Optional(
      describe('The size of the page. 1280 x 800 unless given.', {
        width: Type.Integer({ minimum: 200, maximum: 4096, description: 'Pixels.' }),
        height: Type.Integer({ minimum: 200, maximum: 4096, description: 'Pixels.' }),
      }),
    ),
    full_page: Type.Optional(Type.Boolean({ description: 'Whether `screenshot` shows the whole page, not only what is in view.' })),
    dialogs: Type.Optional(Choice(['dismiss', 'accept'], 'What happens to dialogs of the page: they are dismissed, unless given.')),
    timeout: Type.Optional(Duration('How long each action may wait for the page. 15s unless given, 5m at most.')),
    on_error: Type.Optional(
      Choice(['fail', 'continue'], 'What happens when an action fails: the run fails (unless given), or goes on with the next step.'),
    ),
  }),
  sleep: Duration('Waits. A restart of the service does not make it longer.'),
  fail: FilledText('Fails the run with this text.'),
  complete_case: Text('Completes the case that the run works on, with this note. The run goes on.'),
  fail_case: FilledText('Fails the case that the run works on, for this reason. The run goes on.'),
  postpone_case: describe('Puts the case back into its queue for a while, and completes the run here.', {
    for: Type.Optional(Duration('How long.')),
    until: Type.Optional(FilledText('Until when: a date, or a date and time with a zone, such as 2026-07-18T09:30:00Z.')),
    reason: Type.Optional(FilledText('Why.')),
  }),
  create_case: describe('Adds a case to a queue.', {
    id: Type.Optional(Id('id, queue and title of the case are found in steps.<id>.')),
    queue: FilledText('The name of the queue.'),
    title: FilledText('What the case is called, 500 characters at most.'),
    data: Type.Optional(Text('What the agent that works on it is to know.')),
    json: Type.Optional(Type.Unknown({ description: 'The same as a value, which is written as JSON.' })),
    labels: Type.Optional(
      Type.Record(Type.String(), Type.Union([FilledText('The value.'), Type.Array(FilledText('A value.'))]), {
        description: 'Labels by key; the empty key is for those without one.',
      }),
    ),
    priority: Type.Optional(Choice([...casePriorities], 'Which cases are taken first: none, unless given.')),
    agent: Type.Optional(FilledText('The agent that alone is to take it, by name: a handover target of the revision.')),
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
  /** The step is left out unless this is true. */
  condition?: string;
}
export type Step = { [K in StepKind]: StepOf<K> }[StepKind];

export interface Procedure {
  steps: Step[];
}

export const stepKinds = Object.keys(stepSchemas) as StepKind[];
/** What a step does, in a sentence. */
export const stepDescription = (kind: StepKind): string => (stepSchemas[kind] as { description?: string }).description ?? '';
/** The keys of a procedure and of a step beside its kind. */
export const procedureKeys = ['version', 'description', 'steps'];
export const conditionKey = 'if';

/** The JSON Schema (2020-12) of procedures, published as docs/procedure.schema.json. */
export function procedureJsonSchema(): Record<string, unknown> {
  const condition = Type.Union([Type.String({ minLength: 1 }), Type.Boolean()], {
    description: 'The step is left out unless this is true, such as: answers.pay and steps.count.exit_code == 0',
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
      steps: Type.Array(Type.Union(steps), { minItems: 1, maxItems: mostSteps, description: 'What is done, in this order.' }),
    }),
  };
  // Only what JSON shows: TypeBox keeps more on its objects.
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
}
