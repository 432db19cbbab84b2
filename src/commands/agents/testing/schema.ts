/** What a test file can contain, for validation, types, and the published JSON Schema (docs/agent-test.schema.json). */
import Type, { type Static, type TProperties } from 'typebox';

const describe = <T extends TProperties>(description: string, properties: T) =>
  Type.Object(properties, { additionalProperties: false, description });
const Filled = (description: string) => Type.String({ minLength: 1, description });
const Texts = (description: string) =>
  Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }))], { description });

const contentRules = {
  contains: Type.Optional(Texts('Text that is part of it, or several texts.')),
  matches: Type.Optional(Filled('A regular expression of JavaScript that matches a part of it; ^ and $ match at each line.')),
  equals: Type.Optional(Type.String({ description: 'Exactly this text.' })),
};

const MessageRule = Type.Union([Type.String({ minLength: 1 }), describe('All of these must apply.', contentRules)], {
  description: 'Text that a message contains, or rules for it.',
});
export type MessageRule = Static<typeof MessageRule>;

const FileRule = Type.Union(
  [
    Type.String({ minLength: 1 }),
    describe('All of these must apply.', {
      ...contentRules,
      not_contains: Type.Optional(Texts('Text that is not part of it, or several texts.')),
      same_as: Type.Optional(Filled('A file with exactly this content, relative to the test file.')),
      absent: Type.Optional(Type.Boolean({ description: 'Whether the file must not exist.' })),
    }),
  ],
  { description: 'Text that the file contains, or rules for it.' },
);
export type FileRule = Static<typeof FileRule>;

const Answer = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const Duration = Type.String({
  pattern: '^(0|(\\d+(\\.\\d+)?(ms|s|m|h|d))+)$',
  description: 'How long a test can take, for example 500ms, 30s, 5m, or 1h. By default 1m, or 10m if the agent is a program.',
});

const caseStatuses = ['pending', 'in_progress', 'needs_input', 'postponed', 'completed', 'failed'];

const Case = describe('A case in a queue, which starts the run instead of a message.', {
  title: Filled('Its title.'),
  data: Type.Optional(
    Type.Union([Type.String(), Type.Object({}), Type.Array(Type.Unknown())], {
      description: 'Its data: text, or a mapping or a list, which becomes JSON.',
    }),
  ),
  queue: Type.Optional(Filled('The name of the queue. Cases by default.')),
  labels: Type.Optional(
    Type.Record(Type.String(), Texts('The value, or several values.'), {
      description: 'Labels by key; labels without a key have the empty key.',
    }),
  ),
  priority: Type.Optional(
    Type.Union(
      ['none', 'medium', 'high'].map((word) => Type.Literal(word)),
      { description: 'Its priority.' },
    ),
  ),
});
export type TestCase = Static<typeof Case>;

const Test = describe('A test: what the agent gets, and what is expected of it.', {
  name: Filled('What is tested. It is unique in the file.'),
  message: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })], {
      description: 'The message that starts the run. Of several messages, each is sent when the run has completed the previous one.',
    }),
  ),
  case: Type.Optional(Case),
  files: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Union([Type.String(), describe('A file.', { from: Filled('The file to copy, relative to the test file.') })]),
      {
        description: 'Files in the workspace of the run: the text of each, or where it is copied from.',
      },
    ),
  ),
  repository: Type.Optional(
    Filled(
      'A folder, relative to the test file, whose files become the first commit of a temporary git repository on which the run works.',
    ),
  ),
  approvals: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Union([
        Type.Boolean(),
        describe('A decision.', {
          approved: Type.Boolean({ description: 'The decision.' }),
          reason: Type.Optional(Filled('The reason for it.')),
        }),
      ]),
      { description: 'Decisions by the title of the request; * stands for any text.' },
    ),
  ),
  answers: Type.Optional(
    Type.Record(Type.String(), Type.Union([Answer, Type.Array(Answer, { minItems: 1 })]), {
      description: 'Answers by the text of the question; * stands for any text.',
    }),
  ),
  timeout: Type.Optional(Duration),
  expect: Type.Optional(
    describe('What is expected. By default, the run completes.', {
      status: Type.Optional(
        Type.Union(
          ['completed', 'failed', 'interrupted', 'waiting'].map((word) => Type.Literal(word)),
          { description: 'How the run ends; `waiting` means with a request that the test does not answer. completed by default.' },
        ),
      ),
      error: Type.Optional(MessageRule),
      messages: Type.Optional(
        Type.Array(MessageRule, { description: 'Messages of the agent, in this order. Others can come before, between, and after them.' }),
      ),
      no_messages: Type.Optional(Type.Array(MessageRule, { description: 'No message of the agent is like one of these.' })),
      requests: Type.Optional(
        Type.Array(Filled('The title of a request; * stands for any text.'), {
          description: 'Everything that the agent asks people, in this order. An empty list means that it asks nothing.',
        }),
      ),
      case: Type.Optional(
        describe('The case at the end.', {
          status: Type.Optional(
            Type.Union(
              caseStatuses.map((word) => Type.Literal(word)),
              { description: 'Its status.' },
            ),
          ),
          reason: Type.Optional(MessageRule),
        }),
      ),
      files: Type.Optional(Type.Record(Type.String(), FileRule, { description: 'Files in the workspace at the end, by path.' })),
    }),
  ),
});
export type AgentTest = Static<typeof Test>;

export const TestFile = describe('Tests of an agent, which `aops agents test` runs on a temporary service.', {
  version: Type.Literal(1),
  agent: describe('The agent under test.', {
    procedure: Filled('Its procedure, or the definition of a program; relative to the test file.'),
    instructions: Type.Optional(Filled('The instructions of a program, such as AGENTS.md; relative to the test file.')),
    name: Type.Optional(Filled('The name of the agent. By default, that of the folder.')),
  }),
  timeout: Type.Optional(Duration),
  tests: Type.Array(Test, { minItems: 1, description: 'The tests.' }),
});
export type TestFile = Static<typeof TestFile>;

/** The JSON Schema of a test file. */
export function testFileSchema(): Record<string, unknown> {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'aops agent tests', ...TestFile };
  // Only what JSON contains: TypeBox adds more to its objects.
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
}
