import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../../src/service/errors.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { runPromptly } from '../../../support/promptly.ts';

function problemsOf(text: string): string[] {
  try {
    scriptRuntime.validate(text);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(error).toMatchObject({ status: 400, error: 'invalid_procedure' });
    const problems = (error.details ?? []).map(({ message, line, column }) => `${line}:${column} ${message}`);
    const [first] = error.details ?? [];
    expect(error.message.split('\n')[0]).toBe(`line ${first?.line}, column ${first?.column}: ${first?.message}`);
    return problems;
  }
  return [];
}

/** The problems of one step, which begins on line 3. */
const ofStep = (...lines: string[]): string[] => problemsOf(['version: 1', 'steps:', ...lines].join('\n'));

describe('a procedure', () => {
  it('can use every step', () => {
    const text = `version: 1
description: Everything
steps:
  - say: "Reading {{message}}"
  - exec: { id: count, run: "wc -l < in.csv > out.txt" }
  - tool: { id: lookup, name: erp.lookup, arguments: { id: "{{ message }}" }, result: { amount: 120 }, takes: 300ms }
  - ask: { id: who, questions: [ { question: "Which vendor?", options: [ { label: Acme GmbH }, { label: Acme Inc } ], multi_select: false } ] }
  - approve: { id: pay, title: "Pay {{ steps.lookup.amount }}?", on_deny: { say: "Not paid: {{ steps.pay.reason }}" } }
  - write: { path: done.txt, content: "{{answers.who}}" }
  - screenshot: { path: a.png, url: "https://example.com", action: click, title: A page }
  - browse: { id: shop, url: "https://{{ message }}", actions: [ { fill: { selector: "#q", text: "{{ answers.who }}" } }, { press: Enter } ] }
  - if: answers.pay and steps.count.exit_code == 0
    sleep: 300ms
  - if: false
    fail: Never
`;
    expect(problemsOf(text)).toEqual([]);
    expect(scriptRuntime.countSteps(text)).toBe(10);
  });

  it.each([
    ['', '1:1 a procedure must be a YAML mapping with `version: 1` and `steps`'],
    ['Please pay the invoices.', '1:1 a procedure must be a YAML mapping with `version: 1` and `steps`'],
    ['version: 1', '1:1 `steps` is missing'],
    ['version: 1\nsteps: []', '2:8 `steps` is empty; a procedure needs at least one step'],
    ['version: 1\nsteps:', '2:7 `steps` must be a list; begin every step with "- "'],
    ['version: 2\nsteps: [{ say: Hi }]', '1:10 `version` must be 1'],
    ['steps: [{ say: Hi }]', '1:1 `version: 1` is missing'],
    ['version: 1\nstep: []\nsteps: [{ say: Hi }]', '2:1 unknown key `step`; did you mean `steps`?'],
    ['version: 1\nsteps: [{ say: Hi }', '2:20 this is not valid YAML: Flow map must end with a }'],
  ])('%j is refused', (text, problem) => {
    const [first] = problemsOf(text);
    if (problem.includes('not valid YAML')) expect(first).toMatch(/^\d+:\d+ this is not valid YAML: /);
    else expect(first).toBe(problem);
  });

  it.each([
    [
      'version: 1\nsteps:\n  - say: {{ message }}',
      ['3:11 a `{` at the beginning of a value is a mapping to YAML; put the template in quotes: "{{ … }}"'],
    ],
    [
      'version: 1\nsteps:\n  - tool: { name: x, arguments: { invoice: {{ message }} } }',
      ['3:45 a `{` at the beginning of a value is a mapping to YAML; put the template in quotes: "{{ … }}"'],
    ],
    ['version: 1\nsteps:\n  - tool: { name: x, arguments: { [a, b]: 1 } }', ['3:35 a key is a text, not a list or a mapping']],
    ['version: 1\nsteps:\n  - say: Hi\n  - *hello', ['4:5 there is no anchor `&hello` before this alias']],
    ['version: 1\nsteps:\n  - tool: { name: x, arguments: &a { b: *a } }', ['3:41 the alias `*a` is inside the value that it refers to']],
    ['version: 1\nsteps:\n  - &a { sayy: Hi }\n  - *a', ['3:10 unknown step `sayy`; did you mean `say`?']],
    [`version: 1\nsteps:\n  - say: ${'['.repeat(5000)}`, [expect.stringMatching(/this is not valid YAML: it is nested too deeply$/)]],
  ])('is refused at the position of a text that YAML reads differently: %#', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  it('is refused promptly, even with more problems than can be reported', () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join(', ');
    expect(ofStep(`  - exec: { run: ls, ${keys} }`)).toEqual(['3:22 there are many unknown keys, such as `k0` of `exec`']);
  }, 5_000);

  it('cannot repeat a key', () => {
    expect(ofStep('  - say: Hi', '    say: Bye')).toEqual(['4:5 the key `say` appears twice']);
    expect(ofStep('  - tool: { name: x, arguments: { a: 1, "a": 2 } }')).toEqual(['3:41 the key `a` appears twice']);
  });

  it('can repeat a step by an alias', () => {
    expect(problemsOf('version: 1\nsteps:\n  - &hello { say: Hi }\n  - *hello')).toEqual([]);
  });

  it('has limits', () => {
    expect(problemsOf(`version: 1\nsteps:\n${'  - say: x\n'.repeat(1_000)}`)).toEqual([]);
    expect(problemsOf(`version: 1\nsteps:\n${'  - say: x\n'.repeat(1_001)}`)).toEqual([
      '1003:5 there are 1001 steps; at most 1000 are allowed',
    ]);
    expect(problemsOf(`# ${'x'.repeat(1024 * 1024)}`)).toEqual(['1:1 the procedure is longer than 1048576 bytes']);
  });

  it('cannot exhaust the service', () => {
    expect(problemsOf('['.repeat(200_000))[0]).toContain('not valid YAML');
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefghi'.split('').map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[i]}`).join(',')}]`),
    ];
    expect(problemsOf(bomb.join('\n'))[0]).toContain('not valid YAML');
  });
});

describe('a step', () => {
  it.each([
    [['  - aks: { id: who }'], ['3:5 unknown step `aks`; did you mean `ask`?']],
    [
      ['  - frobnicate: x'],
      [
        '3:5 unknown step `frobnicate`; allowed: `say`, `tool`, `exec`, `write`, `remember`, `ask`, `approve`, `screenshot`, `browse`, `sleep`, `fail`, `complete_case`, `fail_case`, `postpone_case`, `create_case`, or `if`',
      ],
    ],
    [['  - say'], ['3:5 a step must be a mapping, such as `say: Hello`']],
    [
      ['  - if: true'],
      [
        '3:5 this step does nothing; it needs `say`, `tool`, `exec`, `write`, `remember`, `ask`, `approve`, `screenshot`, `browse`, `sleep`, `fail`, `complete_case`, `fail_case`, `postpone_case`, or `create_case`',
      ],
    ],
    [['  - say: Hi', '    exec: { run: ls }'], ['4:5 a step can do only one thing; write `say` and `exec` as separate steps']],
    [['  - say: Hi', '    when: true'], ['4:5 unknown key `when` next to `say`; allowed: `if`']],
    [['  - say: 42'], ['3:10 `say` must be a text, not the number 42; put it in quotes']],
    [['  - say:'], ['3:9 `say` must be a text, not empty']],
    [['  - say: [a]'], ['3:10 `say` must be a text, not a list']],
    [['  - exec: ls'], ['3:11 `exec` must be a mapping, not a text']],
    [['  - exec: {}'], ['3:5 `exec` needs `run`']],
    [['  - exec:', '      run: ls', '      tiemout: 2s'], ['5:7 unknown key `tiemout` in `exec`; did you mean `timeout`?']],
    [['  - exec: { run: ls, on_error: retry }'], ['3:32 `on_error` of `exec` must be `fail` or `continue`']],
    [['  - exec: { run: ls, timeout: 11m }'], ['3:31 `11m` is too long; at most 10m is allowed']],
    [
      ['  - exec: { run: ls, timeout: soon }'],
      ['3:31 `timeout` of `exec` is `soon`, which is not a duration; write 300ms, 2s, 1m30s, or 2h'],
    ],
    [['  - exec: { run: ls, timeout: 0 }'], ['3:31 `timeout` of `exec` must be a text, not the number 0; put it in quotes']],
    [['  - exec: { run: ls, timeout: 0s }'], ['3:31 `timeout` must be longer than 0']],
    [['  - browse: {}'], ['3:5 `browse` needs `url`, `actions`, or both']],
    [['  - browse: { url: "http://a", actions: [ {} ] }'], ['3:43 this action does nothing']],
    [
      ['  - browse: { actions: [ { click: a, press: b } ] }'],
      ['3:26 an action can do only one thing; write `click` and `press` as separate actions'],
    ],
    [['  - browse: { actions: [ { clik: a } ] }'], ['3:28 unknown key `clik` in entry 1 of `actions` of `browse`; did you mean `click`?']],
    [['  - browse: { actions: [ { fill: { selector: a } } ] }'], ['3:28 `fill` of `browse` needs `text`']],
    [['  - browse: { actions: [ { wait_for: {} } ] }'], ['3:28 `wait_for` needs one of `selector`, `text`, `url`, or `gone`']],
    [
      ['  - browse: { actions: [ { extract: { name: a, selector: b } }, { extract: { name: a, selector: c } } ] }'],
      ['3:84 `a` is extracted twice'],
    ],
    [['  - browse: { url: "http://a", timeout: 6m }'], ['3:41 `6m` is too long; at most 5m is allowed']],
    [['  - browse: { url: "http://a", viewport: { width: 10, height: 800 } }'], ['3:51 `width` of `browse` must be 200 or more']],
    [
      ['  - browse: { url: "http://{{ steps.x.y }}" }'],
      ['3:20 `steps.x` is unknown: no earlier step has that ID; there is nothing to refer to here'],
    ],
    [
      ['  - browse: { actions: [ { fill: { selector: a, text: "{{ mesage }}" } } ] }'],
      ['3:55 `mesage` is unknown; did you mean `message`?'],
    ],
    [['  - sleep: 300'], ['3:12 `sleep` is `300`, which is not a duration; write 300ms, 2s, 1m30s, or 2h']],
    [['  - sleep: 3 weeks'], ['3:12 `sleep` is `3 weeks`, which is not a duration; write 300ms, 2s, 1m30s, or 2h']],
    [['  - ask: { questions: [ { question: Who? } ] }'], ['3:5 `ask` needs `id`']],
    [['  - ask: { id: who, questions: [] }'], ['3:32 `questions` of `ask` is empty']],
    [
      ['  - ask: { id: 1st, questions: [ { question: Who? } ] }'],
      ['3:16 `id` of `ask` is `1st`; an ID starts with a letter, followed by letters, digits, and _ (at most 64 characters)'],
    ],
    [
      ['  - ask:', '      id: who', '      questions:', '        - question: Who?', '          options: [ Acme ]'],
      ['7:22 entry 1 of `options` of `ask` must be a mapping, not a text'],
    ],
    [
      ['  - ask: { id: who, questions: [ { question: Who?, multi_select: true } ] }'],
      ['3:52 `multi_select` needs `options` to choose from'],
    ],
    [
      ['  - ask: { id: who, questions: [ { question: A? }, { question: A? } ] }'],
      ['3:64 this question is asked twice; each question must be different, because it identifies the answer'],
    ],
    [
      ['  - ask: { id: w, questions: [ { question: A?, options: [ { label: x }, { label: x } ] } ] }'],
      ['3:73 the option `x` appears twice'],
    ],
    [
      ['  - approve: { id: pay, title: Pay?, on_deny: cry }'],
      ['3:47 `on_deny` of `approve` must be `fail`, `continue`, `stop`, or a mapping'],
    ],
    [
      ['  - approve: { id: pay, title: Pay?, on_deny: { tell: x } }'],
      ['3:49 unknown key `tell` in `on_deny` of `approve`; allowed: `say` or `fail`'],
    ],
    [
      ['  - approve: { id: pay, title: Pay?, on_deny: { say: 3 } }'],
      ['3:54 `say` of `approve` must be a text, not the number 3; put it in quotes'],
    ],
    [['  - postpone_case: {}'], ['3:5 `postpone_case` needs `for` or `until`']],
    [['  - postpone_case: { for: 2h, until: 2026-07-18 }'], ['3:5 `postpone_case` has `for` and `until`; use one of them']],
    [['  - postpone_case: { for: 0s }'], ['3:27 `for` must be longer than 0']],
    [['  - postpone_case: { for: 400d }'], ['3:27 `400d` is too long; at most 365d is allowed']],
    [['  - create_case: { queue: q, title: t, data: x, json: {} }'], ['3:49 `create_case` has `data` and `json`; use one of them']],
    [['  - create_case: { title: t }'], ['3:5 `create_case` needs `queue`']],
    [['  - fail_case: ""'], ['3:16 `fail_case` is empty']],
    [['  - say: "{{ case.amount }}"'], [expect.stringContaining('`case` has no `amount`')]],
    [['  - exec: { run: ls, on_error: {} }'], ['3:32 `on_error` of `exec` must be `fail` or `continue`']],
    [['  - write: { path: a }'], ['3:5 `write` needs `content` or `json`']],
    [['  - write: { path: a, content: b, json: c }'], ['3:5 `write` has `content` and `json`; use one of them']],
    [['  - tool: { name: a, result: 1, error: b }'], ['3:33 `tool` has a `result` and an `error`; use one of them']],
    [
      ['  - tool: { name: a, connection: b, result: 1, takes: 1s }'],
      ['3:37 `result` cannot be combined with `connection`', '3:48 `takes` cannot be combined with `connection`'],
    ],
    [['  - tool: { name: a, timeout: 1s }'], ['3:22 `timeout` requires a `connection`']],
    [['  - tool: { name: a, connection: b, timeout: 11m }'], ['3:46 `11m` is too long; at most 10m is allowed']],
    [['  - tool: { name: a, connection: "{{ massage }}" }'], ['3:34 `massage` is unknown; did you mean `message`?']],
    [['  - exec: { id: a, run: ls }', '  - approve: { id: a, title: Ok? }'], ['4:20 the ID `a` is already used by the step on line 3']],
    [['  - if: 3', '    say: Hi'], ['3:9 `if` must be a condition, such as: answers.pay and steps.count.exit_code == 0']],
  ])('%j', (lines, problems) => {
    expect(ofStep(...lines)).toEqual(problems);
  });

  it('reports all problems in the order of the text', () => {
    const problems = ofStep('  - aks: { id: who }', '  - say: 1', '  - say: "{{ answers.who }} {{ mesage }}"', '  - exec: { id: 2x }');
    expect(problems).toEqual([
      '3:5 unknown step `aks`; did you mean `ask`?',
      '4:10 `say` must be a text, not the number 1; put it in quotes',
      '5:10 `mesage` is unknown; did you mean `message`?',
      '6:5 `exec` needs `run`',
      '6:17 `id` of `exec` is `2x`; an ID starts with a letter, followed by letters, digits, and _ (at most 64 characters)',
    ]);
  });

  it('lists ten problems in the message and all in the details', () => {
    const text = `version: 1\nsteps:\n${'  - aks: 1\n'.repeat(12)}`;
    expect(problemsOf(text)).toHaveLength(12);
    expect(() => scriptRuntime.validate(text)).toThrow(/and 2 more$/);
  });
});

describe('templates and conditions', () => {
  const askSteps = ['  - ask: { id: who, questions: [ { question: Who? } ] }', '  - exec: { id: count, run: ls }'];

  it.each([
    ['  - say: "{{ message"', 'output "{{ message" not closed'],
    ['  - say: "{% if message %}x"', 'tag {% if message %} not closed'],
    ['  - say: "{{ message | shout }}"', 'undefined filter: shout'],
    ['  - say: "{% include \'/etc/passwd\' %}"', 'tag "include" not found'],
    ['  - say: "{{ answers.whom }}"', '`answers.whom` is unknown: no earlier step has that ID; did you mean `who`?'],
    ['  - say: "{{ steps.who }}"', '`steps.who` is unknown; the result of the ask step is in `answers.who`'],
    ['  - say: "{{ answers.count }}"', '`answers.count` is unknown; the result of the exec step is in `steps.count`'],
    ['  - say: "{{ run.name }}"', '`run` has no `name`; it has `id` or `number`'],
    [
      '  - say: "{{ process.env }}"',
      '`process` is unknown; allowed: `message`, `messages`, `answers`, `steps`, `memory`, `run`, `agent`, or `case`',
    ],
    ['  - { if: answers.who ==, say: Hi }', 'the condition ends where a value is expected'],
    [
      '  - { if: answers.who = 3, say: Hi }',
      'expected "|" before filter; conditions can use == != < > <= >= contains and or not, but no parentheses',
    ],
    ['  - { if: "{{ answers.who }}", say: Hi }', 'write conditions without braces, such as: answers.pay and steps.count.exit_code == 0'],
    ['  - { if: answers.nobody, say: Hi }', '`answers.nobody` is unknown: no earlier step has that ID; allowed: `who`'],
    ['  - { if: "true %}{% include x", say: Hi }', 'write conditions without braces, such as: answers.pay and steps.count.exit_code == 0'],
    [
      '  - exec: { run: "echo \'Hi {{ message }}\'" }',
      'an output is inside single quotes; outputs are quoted for the shell automatically, so write it outside, as a separate word or inside double quotes',
    ],
  ])('%s', (line, message) => {
    const problems = ofStep(...askSteps, line);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^5:\d+ /);
    expect(problems[0]?.replace(/^\d+:\d+ /, '')).toBe(message);
  });

  it('finds references to later steps, and of a step to itself', () => {
    expect(ofStep('  - say: "{{ answers.who }}"', ...askSteps)).toEqual([
      '3:10 `answers.who` is not available yet: the step `who` comes later (line 4)',
    ]);
    expect(ofStep('  - exec: { id: count, run: "echo {{ steps.count }}" }')).toEqual([
      '3:29 `steps.count` is not available yet: the step `count` comes later (line 3)',
    ]);
  });

  it.each([
    ["message <> 'a'", 'a value is missing before `>`'],
    ["message == == 'a'", 'a value is missing before `==`'],
    ['message and and message', 'a value is missing before `and`'],
    ["message == 'a", "the text 'a has no closing quote"],
    ['message run.number', '`run.number` appears where an operator is expected, such as ==, and, or contains'],
    ["message = 'a'", 'expected "|" before filter; conditions can use == != < > <= >= contains and or not, but no parentheses'],
  ])('refuses the condition %s', (condition, problem) => {
    expect(ofStep(`  - if: ${JSON.stringify(condition)}`, '    say: Hi')).toEqual([`3:9 ${problem}`]);
  });

  it('accepts everything that is allowed in a condition', () => {
    const condition = `not message and message.size >= 1 or message != "it's" and messages[0] contains 'a' and message == empty or 1 == -1`;
    expect(ofStep(`  - if: ${JSON.stringify(condition)}`, '    say: Hi')).toEqual([]);
  });

  it('refuses expressions in templates that Liquid would misread', () => {
    expect(ofStep('  - say: "{{ message messages }}"')).toEqual([
      '3:10 `messages` appears where an operator is expected, such as ==, and, or contains',
    ]);
    expect(ofStep('  - say: |', '      One', "      {% for m in messages %}{% if m == 'a %}x{% endif %}{% endfor %}")).toEqual([
      "5:1 the text 'a has no closing quote",
    ]);
  });

  it('reports an existing line for a text whose lines differ from those of the document', () => {
    expect(ofStep('  - say: "One\\nTwo\\nThree\\n{{ nope }}"')).toEqual([expect.stringMatching(/^3:10 `nope` is unknown/)]);
  });

  it('explains what a label can be, and that a number is not a duration', () => {
    expect(ofStep('  - create_case: { queue: q, title: t, labels: { a: 1, b: [2] } }')).toEqual([
      '3:53 `a` of `create_case` must be a text or a list',
      '3:60 entry 1 of `b` of `create_case` must be a text, not the number 2; put it in quotes',
    ]);
    expect(ofStep('  - exec: { run: ls, timeout: 10 }')).toEqual([
      '3:31 `timeout` of `exec` is `10`, which is not a duration; write 300ms, 2s, 1m30s, or 2h',
    ]);
  });

  it('reports the line within a block of text', () => {
    expect(ofStep('  - write:', '      path: a', '      content: |', '        one', '        {{ nothing }}')).toEqual([
      '7:1 `nothing` is unknown; allowed: `message`, `messages`, `answers`, `steps`, `memory`, `run`, `agent`, or `case`',
    ]);
  });

  it('recognises names that the template itself defines', () => {
    expect(ofStep('  - say: "{% assign x = message %}{% for m in messages %}{{ m }}{{ x }}{{ forloop.index }}{% endfor %}"')).toEqual([]);
  });
});

describe('very many outputs', () => {
  it('are refused before parsing takes long', async () => {
    const repeatedTemplate = (count: number): string => '{{ message }}'.repeat(count);
    await runPromptly(() => {
      expect(ofStep('  - say: "{{ message }}"', `  - say: "${repeatedTemplate(70_000)}"`)).toEqual([
        '4:10 a template can have at most 1000 outputs and tags',
      ]);
      expect(
        ofStep(
          `  - write: { path: a, json: [${Array(11)
            .fill(`"${repeatedTemplate(1_000)}"`)
            .join(', ')}] }`,
        ),
      ).toEqual([expect.stringMatching(/^3:\d+ the templates of a procedure can have at most 10000 outputs and tags$/)]);
    });
    expect(ofStep(`  - say: "${repeatedTemplate(1_000)}"`)).toEqual([]);
  });

  it('have problems with a position, however far down', () => {
    expect(ofStep('  - say: |', '      one', '      {{ message }}', '      {{ a b }}', '      {{ message }}')).toEqual([
      expect.stringContaining('6:'),
    ]);
  });
});
