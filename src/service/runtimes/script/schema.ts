/** What a procedure may contain: every step's payload, described once for validation, for types and for the published JSON Schema. */
import Type, { type Static, type TProperties } from 'typebox';
import { Closed } from '../../../interface/schemas/common.ts';

/** Limits of a procedure. Bytes of its text, and steps. */
export const longestProcedure = 1024 * 1024;
export const mostSteps = 1_000;
/** The longest time an `exec` step may ask for, and what it gets without asking. Milliseconds. */
export const longestExec = 600_000;
export const defaultExec = 60_000;
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

/** The payload of each step, by the key that names the step. */
export const stepSchemas = {
  say: Text('Says a text.'),
  tool: describe('Shows a tool call and its result, without calling anything.', {
    id: Type.Optional(Id('The result is found in steps.<id>.')),
    name: FilledText('The name of the tool.'),
    arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'What the tool is called with.' })),
    result: Type.Optional(Type.Unknown({ description: 'What it answers: any value.' })),
    error: Type.Optional(FilledText('What it fails with, instead of a result. The run goes on.')),
    takes: Type.Optional(Duration('How long the call takes.')),
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
  sleep: Duration('Waits. A restart of the service does not make it longer.'),
  fail: FilledText('Fails the run with this text.'),
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
  const condition = Type.String({
    minLength: 1,
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
