/**
 * What the JSON form of an export contains (docs/run-export.schema.json). Within a version, fields are only added: readers ignore those
 * that they do not know.
 */
import Type from 'typebox';
import { exportFormat, exportVersion } from './json.ts';

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()]);
const Text = (description: string) => Type.String({ description });
const Time = (description: string) => Type.String({ format: 'date-time', description });
const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Words = (words: string[], description: string) =>
  Type.Union(
    words.map((word) => Type.Literal(word)),
    { description },
  );

const Diff = Type.Object({ path: Text('The file.'), diff: Text('A unified diff.') });
const Question = Type.Object({
  question: Text('What was asked.'),
  header: Type.Optional(Type.String()),
  options: Type.Optional(Type.Array(Type.Object({ label: Type.String(), description: Type.Optional(Type.String()) }))),
  multi_select: Type.Optional(Type.Boolean()),
});
const request = {
  id: Text('Its ID.'),
  type: Words(['approval', 'question'], 'An approval, or questions.'),
  title: Text('Its title.'),
  description: Nullable(Type.String()),
  created_at: Time('When it was made.'),
  questions: Type.Optional(Type.Array(Question)),
};

const TextEntry = Type.Object(
  {
    kind: Words(['message', 'thought', 'plan', 'notice', 'answer'], 'What it is.'),
    at: Time('When it was recorded.'),
    by: Words(['person', 'agent', 'system'], 'Who wrote it.'),
    text: Text('The text.'),
  },
  { description: 'A text.' },
);
const ToolEntry = Type.Object(
  {
    kind: Type.Literal('tool'),
    at: Time('When the tool was called.'),
    ended_at: Nullable(Time('When its result arrived; null without one.')),
    status: Words(['done', 'failed', 'unfinished'], 'How it ended. Unfinished: no result arrived.'),
    name: Text('The name of the tool.'),
    arguments: Type.Optional(Type.Unknown({ description: 'Missing if the result arrived long after the call, which is another entry.' })),
    result: Type.Optional(Type.Unknown({ description: 'The result without its diffs.' })),
    error: Type.Optional(Text('Why it failed.')),
    diffs: Type.Array(Diff, { description: 'The changes of files that the tool reported.' }),
  },
  { description: 'A call of a tool with its result.' },
);
const RequestEntry = Type.Object(
  {
    kind: Type.Literal('request'),
    at: Time('When the run made the request.'),
    request: Type.Object({
      ...request,
      status: Words(['pending', 'answered', 'withdrawn'], 'What became of it.'),
      response: Nullable(Text('The answer in words.')),
      responded_at: Nullable(Time('When it was answered.')),
      responded_by: Nullable(
        Type.Object(
          { id: Type.String(), name: Nullable(Type.String()) },
          { description: 'The credential that answered. Null if that was not recorded.' },
        ),
      ),
    }),
  },
  { description: 'A human request with its answer.' },
);

const Picture = Type.Object({
  media_type: Text('For example image/png.'),
  size: Count('Bytes.'),
  sha256: Text('In hexadecimal digits.'),
  base64: Text('The picture.'),
});

const ExportedRun = Type.Object(
  {
    format: Type.Literal(exportFormat),
    version: Type.Literal(exportVersion, { description: 'Increased when a field is removed or gets another meaning.' }),
    exported_at: Time('When it was written.'),
    exported_by: Text('The program that wrote it.'),
    run: Type.Object({
      id: Type.String(),
      number: Nullable(Type.Integer()),
      title: Nullable(Type.String()),
      status: Type.String(),
      source: Nullable(Type.String()),
      created_at: Nullable(Type.String()),
      started_at: Nullable(Type.String()),
      completed_at: Nullable(Type.String()),
      duration_milliseconds: Nullable(Type.Integer()),
      error: Nullable(Text('Why it failed.')),
    }),
    agent: Nullable(Type.Object({ id: Type.String(), name: Nullable(Type.String()) }, { description: 'Null if it was deleted.' })),
    revision: Nullable(
      Type.Object({
        id: Type.String(),
        number: Nullable(Type.Integer()),
        name: Nullable(Type.String()),
        status: Nullable(Type.String()),
        runtime: Nullable(Type.String()),
        procedure: Type.String(),
      }),
    ),
    program: Nullable(
      Type.Object(
        {
          name: Type.String(),
          version: Type.String(),
          mode: Nullable(Type.String()),
          asks: Nullable(Type.Boolean({ description: 'Whether it asks a person before it acts.' })),
          command: Nullable(Type.Array(Type.String())),
        },
        { description: 'The program that worked as the agent, as it describes itself.' },
      ),
    ),
    usage: Nullable(
      Type.Object({
        context_tokens: Type.Number(),
        context_size: Type.Number(),
        cost: Nullable(Type.Object({ amount: Type.Number(), currency: Type.String() })),
      }),
    ),
    containment: Nullable(Words(['contained', 'host'], 'How far the commands of the run were confined.')),
    case: Nullable(Type.Object({ id: Type.String(), title: Nullable(Type.String()), queue: Nullable(Type.String()) })),
    report: Nullable(
      Type.Object(
        {
          steps: Count('Executed steps.'),
          total_steps: Count('Steps of the procedure.'),
          calls: Count('Tool calls.'),
          errors: Count('Errors of tools, and of the run.'),
          human_requests: Count('How often the run asked a person.'),
        },
        { description: 'Figures of the latest turn.' },
      ),
    ),
    evaluation: Nullable(Type.Object({ status: Type.String(), passed: Type.Number(), total: Type.Number() })),
    pending_request: Nullable(Type.Object(request)),
    timeline: Type.Array(Type.Union([TextEntry, ToolEntry, RequestEntry]), { description: 'What happened, in order.' }),
    screenshots: Type.Array(
      Type.Object({
        number: Type.Integer(),
        tool: Type.String(),
        action: Nullable(Type.String()),
        started_at: Nullable(Type.String()),
        ended_at: Nullable(Type.String()),
        input: Type.Object({}),
        error: Nullable(Type.String()),
        picture: Nullable(Picture),
        left_out: Nullable(Text('Why the picture is missing.')),
      }),
    ),
    changes: Nullable(
      Type.Object(
        {
          source: Text('The repository.'),
          commit: Nullable(Text('The commit from which the run started.')),
          total_files: Count('Changed files.'),
          diffs: Nullable(Type.Array(Diff, { description: 'Null if they are left out.' })),
        },
        { description: 'What the run changed in its repository; null without one.' },
      ),
    ),
    files: Type.Array(
      Type.Object({
        path: Type.String(),
        size: Count('Bytes.'),
        sha256: Nullable(Text('In hexadecimal digits; null if the file was not read.')),
      }),
      { description: 'The files in the sandbox of a run without a repository.' },
    ),
    left_out: Type.Array(Type.String(), { description: 'What is not part of the export, in sentences.' }),
    redactions: Type.Array(Type.Object({ kind: Type.String(), place: Type.String(), count: Count('How many were replaced.') }), {
      description: 'Secrets that were replaced.',
    }),
  },
  { description: `The JSON form of \`aops runs export\`, version ${exportVersion}.` },
);

/** The published JSON Schema. */
export const exportSchema = () => ({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Record of a run', ...ExportedRun });
