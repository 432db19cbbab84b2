/** `aops help procedures`: how a procedure is written, short enough to have beside the editor. docs/procedures.md is the whole guide. */
import type { Topic } from './topic.ts';

/** A procedure that does a little of everything; a test starts it. */
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

/** What each step does. */
export const stepRows: readonly (readonly [string, string])[] = [
  ['say: TEXT', 'says a text'],
  ['exec', 'runs a command in the workspace: `run`, `timeout`, `on_error: continue`; gives `stdout`, `stderr`, `exit_code`'],
  ['write', 'writes a file of the workspace: `path`, and `content` or `json`'],
  ['remember', 'writes a memory file of the agent, for later runs: `path`, `content` or `json`, `append`'],
  ['ask', 'asks a person `questions`, and waits; each may have `options`, `header` and `multi_select`'],
  ['approve', 'asks for approval, and waits: `title`, `description`, and `on_deny` (`fail`, `continue`, `stop`, or what to say)'],
  ['tool', 'calls a tool of a `connection`: `name`, `arguments`; without a connection it shows a call with the `result` given'],
  ['browse', 'opens pages in a browser: `url`, and `actions` such as `click`, `fill`, `wait_for`, `extract`, `download`'],
  ['screenshot', 'shows a picture of the workspace: `path`'],
  ['sleep: DURATION', 'waits: `300ms`, `2s`, `1m30s`, `2h`'],
  ['fail: TEXT', 'fails the run'],
  ['complete_case: TEXT', 'says that the case of the run is done'],
  ['fail_case: TEXT', 'says that it could not be done'],
  ['postpone_case', 'puts it back into its queue: `for` or `until`, `reason`'],
  ['create_case', 'adds a case to a queue: `queue`, `title`, `data` or `json`, `labels`'],
];

export const procedures: Topic = {
  summary: 'How to write the procedure of an agent',
  blocks: () => [
    'A procedure is a list of steps in YAML, carried out one after the other. All mistakes are reported at once, with line and column, and nothing is changed.',
    { heading: 'Example' },
    { code: exampleProcedure },
    { heading: 'Steps' },
    { rows: stepRows },
    'A step may have an `id`, under which later steps find what it gave, and an `if` beside it: `if: answers.pay and steps.list.exit_code == 0`.',
    { heading: 'Templates' },
    'Texts may contain Liquid: `{{ message | upcase }}`, `{% if answers.pay %}...{% endif %}`. In commands, what a template puts in is quoted for the shell. Put a value that begins with `{` in quotes.',
    {
      rows: [
        ['message, messages', 'the latest message to the run, and all of them'],
        ['answers.ID', 'the answer to an `ask`; `true` or `false` for an `approve`'],
        ['steps.ID', 'what a step gave: `steps.list.stdout`, `steps.pay.reason`'],
        ['memory["PATH"]', 'a memory file of the agent, nil when it is not there'],
        ['run, agent, case', '`run.id`, `run.number`, `agent.name`; the case that the run works on'],
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
