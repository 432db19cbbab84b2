/** `aops help procedures`: how to write a procedure, short enough to keep open next to the editor. docs/procedures.md is the full guide. */
import type { Topic } from './topic.ts';

/** A procedure that uses most steps; a test runs it. */
export const exampleProcedure = [
  'version: 1',
  'steps:',
  '  - say: "You wrote: {{ message }}"',
  '  - exec: { id: list, run: ls | wc -l }',
  '  - ask:',
  '      id: vendor',
  '      questions:',
  '        - question: Which vendor?',
  '          options: [{ label: Acme }, { label: Bolt }]',
  '  - approve:',
  '      id: pay',
  '      title: "Pay {{ answers.vendor }}?"',
  '      on_deny: continue',
  '  - if: answers.pay',
  '    write: { path: paid.txt, content: "{{ answers.vendor }}" }',
  '  - say: "{{ steps.list.stdout }} files before."',
] as const;

/** The meaning of each step. */
export const stepRows: readonly (readonly [string, string])[] = [
  ['say: TEXT', 'sends a message'],
  ['exec', 'runs a command in the workspace: `run`, `timeout`, `on_error: continue`; results: `stdout`, `stderr`, `exit_code`'],
  ['write', 'writes a file in the workspace: `path`, and `content` or `json`'],
  ['remember', 'writes a memory file of the agent for later runs: `path`, `content`, or `json`, `append`'],
  ['ask', 'asks a person `questions`, and waits; each can have `options`, `header`, and `multi_select`'],
  ['approve', 'asks for approval, and waits: `title`, `description`, and `on_deny` (`fail`, `continue`, `stop`, or a message)'],
  ['tool', 'calls a tool of a `connection`: `name`, `arguments`; without a connection it shows a call with the specified `result`'],
  ['browse', 'opens pages in a browser: `url`, and `actions`, such as `click`, `fill`, `wait_for`, `extract`, `download`'],
  ['screenshot', 'shows a picture from the workspace: `path`'],
  ['sleep: DURATION', 'waits: `300ms`, `2s`, `1m30s`, `2h`'],
  ['fail: TEXT', 'fails the run'],
  ['complete_case: TEXT', 'completes the case of the run, with a note'],
  ['fail_case: TEXT', 'marks the case as failed, with the reason'],
  ['postpone_case', 'returns the case to its queue: `for` or `until`, `reason`'],
  ['create_case', 'adds a case to a queue: `queue`, `title`, `data`, or `json`, `labels`'],
];

export const procedures: Topic = {
  summary: 'How to write the procedure of an agent',
  blocks: () => [
    'A procedure is a list of steps in YAML, which are executed one after the other. If it contains mistakes, all of them are reported with line and column, and nothing is changed.',
    { heading: 'Example' },
    { code: exampleProcedure },
    { heading: 'Steps' },
    { rows: stepRows },
    'A step can have an `id`, by which later steps use its result, and a condition: `if: answers.pay and steps.list.exit_code == 0`.',
    { heading: 'Templates' },
    'Texts can contain Liquid: `{{ message | upcase }}`, `{% if answers.pay %}...{% endif %}`. In commands, values from templates are quoted for the shell. Put a value that begins with `{` in quotes.',
    {
      rows: [
        ['message, messages', 'the latest message to the run, and all messages'],
        ['answers.ID', 'the answer to an `ask`; `true` or `false` for an `approve`'],
        ['steps.ID', 'the result of a step: `steps.list.stdout`, `steps.pay.reason`'],
        ['memory["PATH"]', 'a memory file of the agent, or nil if it does not exist'],
        ['run, agent, case', '`run.id`, `run.number`, `agent.name`, and the case of the run'],
      ],
    },
    { heading: 'Try it' },
    {
      code: [
        'aops agents create clerk --procedure procedure.yaml',
        'aops runs start --agent clerk --message March --watch',
        'aops agents update clerk --procedure procedure.yaml',
      ],
    },
  ],
};
