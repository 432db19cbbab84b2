/** Requests in words, and the procedures that they result in. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scriptBuilder } from '../../../../src/service/runtimes/script/builder/builder.ts';
import { grammarLines } from '../../../../src/service/runtimes/script/builder/help.ts';
import { parseProcedure } from '../../../../src/service/runtimes/script/parse.ts';
import { renderDiff } from '../../../../src/terminal/diff.ts';

const base = `version: 1
description: Pays invoices.
steps: # in this order
  # greets
  - say: "Good morning!" # politely

  # asks
  - ask: { id: vendor, questions: [{ question: Which vendor?, options: [{ label: Acme GmbH }, { label: Acme Inc }] }] }

  - exec:
      id: count
      run: |
        # counts
        wc -l < invoices.csv

  # money
  - approve: { id: pay, title: "Pay {{ steps.count.stdout }} invoices?", on_deny: continue }
  - approve: { id: book, title: Book it? }
  - if: answers.pay
    say: Paid to {{ answers.vendor }}.
# the end
`;

const build = (
  prompt: string,
  { procedure = base as string | null, answers = {} }: { procedure?: string | null; answers?: Record<string, string> } = {},
) => scriptBuilder.build({ procedure, prompt, answers, exec: 'host', browsing: true, connections: ['tickets'] }, async () => undefined);

async function proposal(prompt: string, options: Parameters<typeof build>[1] = {}) {
  const outcome = await build(prompt, options);
  if (outcome.status !== 'proposed') throw new Error(`${prompt}: ${JSON.stringify(outcome, null, 1)}`);
  parseProcedure(outcome.procedure);
  return outcome;
}

/** The lines that a request removes and adds. */
async function changedLines(prompt: string, options: Parameters<typeof build>[1] = {}): Promise<string> {
  const { procedure } = await proposal(prompt, options);
  const before = options.procedure === undefined ? base : (options.procedure ?? '');
  const diff = await renderDiff({ before, after: procedure, beforeName: 'before', afterName: 'after' }, {});
  return diff
    .split('\n')
    .slice(2)
    .filter((line) => /^[-+]/.test(line))
    .join('\n');
}

const ask = '  - ask: { id: vendor, questions: [{ question: Which vendor?, options: [{ label: Acme GmbH }, { label: Acme Inc }] }] }';
const pay = '  - approve: { id: pay, title: "Pay {{ steps.count.stdout }} invoices?", on_deny: continue }';
const book = '  - approve: { id: book, title: Book it? }';

describe('a request', () => {
  it.each<[string, string]>([
    // Adding: what, where, with what.
    ['say "Goodbye" at the end', '+\n+  - say: Goodbye'],
    ['complete the case "Paid" at the end', '+\n+  - complete_case: Paid'],
    ['fail the case with "No vendor" at the end', '+\n+  - fail_case: No vendor'],
    ['postpone the case for 2 hours at the end', '+\n+  - postpone_case: { for: 2h }'],
    ['add a case "Check it" to the queue "second look" at the end', '+\n+  - create_case: { queue: second look, title: Check it }'],
    ['Please say "Goodbye".', '+\n+  - say: Goodbye'],
    ['add a step that says "Hi: there; you." after step 1', '+  - say: "Hi: there; you."\n+'],
    ['say: "hey" before step 1', '+  - say: hey\n+'],
    ['At the start, say “Hello”', '+  - say: Hello\n+'],
    ['say hello to everyone', '+\n+  - say: hello to everyone'],
    ['approve "Really?" before step 3', '+  - approve: { id: really, title: Really? }\n+'],
    ['after step 3, ask for approval of "Go on?" as go, if denied stop', '+  - approve: { id: go, title: Go on?, on_deny: stop }\n+'],
    ['require approval "Book it?" as step 2', '+  - approve: { id: book_it, title: Book it? }\n+'],
    [
      'add an approval "Pay?" with description "All of it" at the end',
      '+\n+  - approve: { id: pay_2, title: Pay?, description: All of it }',
    ],
    ['ask "What is your name?" as name at the beginning', '+  - ask: { id: name, questions: [ { question: What is your name? } ] }\n+'],
    [
      'ask "Which currency?" with options EUR, USD and "Swiss francs" after the question',
      '+  - ask:\n+      id: which_currency\n+      questions:\n+        - question: Which currency?\n+          options:\n+            - { label: EUR }\n+            - { label: USD }\n+            - { label: Swiss francs }\n+',
    ],
    [
      'ask "Colours?" with options red, green, multiple as colours',
      '+\n+  - ask:\n+      id: colours\n+      questions:\n+        - question: Colours?\n+          options:\n+            - { label: red }\n+            - { label: green }\n+          multi_select: true',
    ],
    [
      'run "sort x" with timeout 20 seconds as sorted, on error continue',
      '+\n+  - exec: { id: sorted, run: sort x, timeout: 20s, on_error: continue }',
    ],
    ['run the command "ls"', '+\n+  - exec: { run: ls }'],
    ['write "hello" to notes/a.txt at the start', '+  - write: { path: notes/a.txt, content: hello }\n+'],
    ['write the file "b c.txt" with "hello"', '+\n+  - write: { path: b c.txt, content: hello }'],
    ['wait 5 minutes before the last step', '+\n+  - sleep: 5m\n+'],
    ['fail with "Nothing to do" if "message == \'\'" at the beginning', "+  - if: message == ''\n+    fail: Nothing to do\n+"],
    ['call "erp.book" after the approval "Book it?" if `answers.book`', '+\n+  - if: answers.book\n+    tool: { name: erp.book }\n+'],
    ['open "https://example.com/a" as page', '+\n+  - browse: { id: page, url: https://example.com/a }'],
    ['take a screenshot of shots/a.png', '+\n+  - screenshot: { path: shots/a.png }'],
    ['add {say: "flow"} before the last step', '+\n+  - { say: "flow" }\n+'],
    ['add `say: code` at the end', '+\n+  - say: code'],
    [
      'add after step 2:\n  - tool:\n      name: erp.lookup # looks\n      result: { ok: true }\n  - say: looked',
      '+  - tool:\n+      name: erp.lookup # looks\n+      result: { ok: true }\n+\n+  - say: looked\n+',
    ],
    ['add a step at the end:\n```yaml\n- say: fenced\n```', '+\n+  - say: fenced'],
    // Removing, moving, swapping.
    ['remove step 5', `-${book}`],
    ['delete the approval called "book"', `-${book}`],
    ['drop the last step', '-  - if: answers.pay\n-    say: Paid to {{ answers.vendor }}.'],
    [
      'remove all approvals and remove step 6',
      `-\n-  # money\n-${pay}\n-${book}\n-  - if: answers.pay\n-    say: Paid to {{ answers.vendor }}.`,
    ],
    ['remove steps 4 to 6', `-\n-  # money\n-${pay}\n-${book}\n-  - if: answers.pay\n-    say: Paid to {{ answers.vendor }}.`],
    ['remove step 6 and step 5', `-${book}\n-  - if: answers.pay\n-    say: Paid to {{ answers.vendor }}.`],
    ['move step 5 before step 4', `+${book}\n-${book}`],
    ['swap steps 4 and 5', `+${book}\n-${book}`],
    // Changing.
    ['replace "Acme" with "Bolt"', `-${ask}\n+${ask.replaceAll('Acme', 'Bolt')}`],
    ['change "Acme GmbH" to "Bolt AG" in step 2', `-${ask}\n+${ask.replace('Acme GmbH', 'Bolt AG')}`],
    ['replace step 6 with say "Done."', '-  - if: answers.pay\n-    say: Paid to {{ answers.vendor }}.\n+  - say: Done.'],
    ['change step 1 to wait 5m', '-  - say: "Good morning!" # politely\n+  - sleep: 5m'],
    ['set timeout of step 3 to 5 minutes', '+      timeout: 5m'],
    ["set step 3's timeout to 10s", '+      timeout: 10s'],
    ['give step 3 a timeout of 10s', '+      timeout: 10s'],
    ['set the title of the approval called book to "Book all?"', `-${book}\n+${book.replace('it?', 'all?')}`],
    ['set on_deny of "book" to stop', `-${book}\n+${book.replace(' }', ', on_deny: stop }')}`],
    ['change the question of step 2 to "Who?"', `-${ask}\n+${ask.replace('Which vendor?', 'Who?')}`],
    ['set the text of step 1 to "Hi!"', '-  - say: "Good morning!" # politely\n+  - say: "Hi!" # politely'],
    ['remove the on_deny of step 4', `-${pay}\n+${pay.replace(', on_deny: continue', '')}`],
    ['only do step 3 if "message != \'\'"', "-  - exec:\n+  - if: message != ''\n+    exec:"],
    ['make step 3 conditional on "message"', '-  - exec:\n+  - if: message\n+    exec:'],
    ['always do step 6', '-  - if: answers.pay\n-    say: Paid to {{ answers.vendor }}.\n+  - say: Paid to {{ answers.vendor }}.'],
    ['add option "Acme SE" to the question', `-${ask}\n+${ask.replace('{ label: Acme Inc }', '{ label: Acme Inc }, { label: Acme SE }')}`],
    ['remove option "Acme Inc" from step 2', `-${ask}\n+${ask.replace(', { label: Acme Inc }', '')}`],
    [
      'rename step 2 to supplier',
      `-${ask}\n+${ask.replace('id: vendor', 'id: supplier')}\n-    say: Paid to {{ answers.vendor }}.\n+    say: Paid to {{ answers.supplier }}.`,
    ],
    ['set the description to "Pays: carefully."', '-description: Pays invoices.\n+description: "Pays: carefully."'],
    // Several parts; numbers are those of the original procedure.
    ['remove step 5. Then set timeout of step 3 to 2m', `+      timeout: 2m\n-${book}`],
    [
      '- remove step 6\n- wait 30 seconds before the first approval\n- say "x" after it',
      '+  - sleep: 30s\n+\n+  - say: x\n+\n-  - if: answers.pay\n-    say: Paid to {{ answers.vendor }}.',
    ],
    ['approve "A?" as a at the end. Set on_deny of it to continue', '+\n+  - approve: { id: a, title: A?, on_deny: continue }'],
  ])('%s', async (prompt, lines) => {
    expect(await changedLines(prompt)).toBe(lines);
  });

  it('can start a procedure', async () => {
    const { procedure } = await proposal('say "Hello". wait 2s. set the description to "Says hello"', { procedure: null });
    expect(procedure).toBe('version: 1\ndescription: Says hello\nsteps:\n  - say: Hello\n  - sleep: 2s\n');
  });

  it('keeps the style of line breaks', async () => {
    const windows = 'version: 1\r\nsteps:\r\n- say: one\r\n- say: two';
    expect((await proposal('say "three"', { procedure: windows })).procedure).toBe(`${windows}\r\n- say: three\r\n`);
  });

  it('rewrites a procedure whose steps are not a block list', async () => {
    const flow = 'version: 1\nsteps: [{ say: one }, { say: two }]\n';
    expect(await proposal('remove step 1', { procedure: flow })).toMatchObject({ procedure: 'version: 1\nsteps: [ { say: two } ]\n' });
    const anchoredText = 'version: 1\nsteps:\n  - say: &greeting Hello\n  - say: *greeting\n';
    const { procedure } = await proposal('say "Bye" after step 1', { procedure: anchoredText });
    expect(procedure).toBe('version: 1\nsteps:\n  - say: &greeting Hello\n  - say: Bye\n  - say: *greeting\n');
  });

  it('does not change texts with brackets', async () => {
    const brackets = 'version: 1\nsteps:\n  - ask: { id: a, questions: [{ question: "[ ok ]" }] }\n';
    const { procedure } = await proposal('set title of step 1 to "T"', { procedure: brackets });
    expect(parseProcedure(procedure).steps[0]?.payload).toMatchObject({ title: 'T', questions: [{ question: '[ ok ]' }] });
  });

  it('keeps every byte of the other steps', async () => {
    const pieces = fc.constantFrom(
      '  - say: one\n',
      '\n  # noted\n  - say:   "two"   # aside\n',
      '  - exec: {run: ls,   timeout: 5s}\n',
      "  - write:\n        path:  'a.txt'\n        content: |\n            text\n\n            more\n",
      '  -   sleep: 1s\n',
      '\n\n  - say: >-\n      folded\n      text\n',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 2, maxLength: 6 }), fc.nat(), async (steps, seed) => {
        const position = seed % steps.length;
        const text = `version: 1\nsteps:\n${steps.join('')}# end\n`;
        const { procedure: reducedProcedure } = await proposal(`remove step ${position + 1}`, { procedure: text });
        const otherSteps = steps.filter((_, index) => index !== position);
        for (const piece of otherSteps) expect(reducedProcedure).toContain(piece.trimStart());
        const { procedure: extendedProcedure } = await proposal(`say "new" after step ${position + 1}`, { procedure: text });
        for (const piece of steps) expect(extendedProcedure).toContain(piece.trimStart());
        expect(parseProcedure(extendedProcedure).steps.map(({ kind }) => kind)).toHaveLength(steps.length + 1);
      }),
      { numRuns: 60 },
    );
  });

  it('gives the same procedure every time', async () => {
    const prompt = 'ask "Which?" with options A, B before step 3. replace "Acme" with "Bolt". remove step 5';
    expect(await proposal(prompt)).toEqual(await proposal(prompt));
  });

  it('never causes an internal error, whatever it contains', async () => {
    const word = fc.constantFrom(
      'add',
      'remove',
      'step',
      'the',
      '3',
      '"x"',
      'after',
      'approval',
      'say',
      'set',
      'timeout',
      'of',
      'to',
      ',',
      '.',
      '{',
      "'",
      '`',
      '\n',
      'all',
      'move',
      'option',
      'with',
      ':',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 12 }), async (words) => {
        const outcome = await build(words.join(' '));
        if (outcome.status === 'proposed') parseProcedure(outcome.procedure);
        if (outcome.status === 'failed') expect(outcome.error).not.toMatch(/undefined|TypeError|cannot read/i);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a question', () => {
  const questionOf = async (prompt: string, answers: Record<string, string> = {}) => {
    const outcome = await build(prompt, { answers });
    if (outcome.status !== 'asking') throw new Error(JSON.stringify(outcome));
    return outcome.questions.map(({ question, options }) => ({
      question: question.replace(/^Request \d+, ".*?": /, ''),
      options: options?.map(({ label }) => label),
      whole: question,
    }));
  };

  it.each<[string, string, string[] | undefined]>([
    [
      'remove the approval',
      '2 steps match. Which one do you mean?',
      ['Step 4 (approve): Pay {{ steps.count.stdout }} invoices?', 'Step 5 (approve): Book it?', 'Leave it out'],
    ],
    ['remove step nine', 'no step is called "nine". Which step do you mean?', undefined],
    ['say "x" after the dessert', 'no step is called "dessert". Which step do you mean?', undefined],
    ['set timeout of the command', 'what should timeout be? (or: leave it out)', undefined],
    ['add an approval', 'what should be approved? (or: leave it out)', undefined],
    ['add a question after step 1', 'what is the question? (or: leave it out)', undefined],
    ['write a.txt', 'what should a.txt contain? (or: leave it out)', undefined],
    ['rename step 4', 'what is the new ID of Step 4 (approve): Pay {{ steps.count.stdout }} invoices?? (or: leave it out)', undefined],
    ['move step 1', 'where should it go?', undefined],
    ['replace "Zebra" with "x"', '"Zebra" does not appear in the procedure. Which text should be replaced? (or: leave it out)', undefined],
    ['set colour of step 1 to red', 'Step 1 (say): Good morning! has no "colour". Which key do you mean?', ['text', 'if', 'Leave it out']],
  ])('is asked about: %s', async (prompt, question, options) => {
    const [first, ...otherQuestions] = await questionOf(prompt);
    expect(first?.question).toBe(question);
    expect(otherQuestions).toEqual([]);
    if (options) expect(first?.options).toEqual(options);
  });

  it('is settled by its answer', async () => {
    const [whichQuestion] = await questionOf('remove the approval');
    const choice = { [whichQuestion?.whole as string]: 'Step 5 (approve): Book it?' };
    expect(await changedLines('remove the approval', { answers: choice })).toBe(`-${book}`);
    const [text] = await questionOf('add an approval at the end');
    expect(await changedLines('add an approval at the end', { answers: { [text?.whole as string]: 'Ship?' } })).toBe(
      '+\n+  - approve: { id: ship, title: Ship? }',
    );
    const [whereQuestion] = await questionOf('move step 6');
    expect(whereQuestion?.options?.slice(0, 3)).toEqual(['At the start', 'At the end', 'After Step 1 (say): Good morning!']);
    const answers = { [whereQuestion?.whole as string]: `After ${'Step 4 (approve): Pay {{ steps.count.stdout }} invoices?'}` };
    expect((await proposal('move step 6', { answers })).changes).toEqual(['Moved Step 6 (say): Paid to {{ answers.vendor }}.']);
  });

  it('is answered by leaving out a part of the request', async () => {
    const [whichQuestion] = await questionOf('remove the approval. say "x"');
    const answers = { [whichQuestion?.whole as string]: 'Leave it out' };
    expect((await proposal('remove the approval. say "x"', { answers })).changes).toEqual(['Added a step (say): x']);
    expect(
      await build('remove the approval', { answers: { [(await questionOf('remove the approval'))[0]?.whole as string]: 'leave it out.' } }),
    ).toEqual({
      status: 'failed',
      error: 'The request would not change the procedure.',
    });
  });
});

describe('a failure', () => {
  it('lists what would be understood, and suggests a similar word', async () => {
    const outcome = await build('remvoe step 2');
    expect(outcome).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('Not understood: "remvoe step 2". Did you mean "remove"?'),
    });
    if (outcome.status === 'failed') for (const line of grammarLines) expect(outcome.error).toContain(`\n- ${line}`);
  });

  it.each<[string, string]>([
    ['remove step 4', 'The changed procedure would not be valid:\n- `answers.pay` is unknown: no earlier step has that ID'],
    ['sleep 5', '`sleep` is `5`, which is not a duration'],
    ['rename step 1 to greeting', 'Step 1 (say): Good morning! cannot have an ID.'],
    ['rename step 4 to "1x"', '"1x" is not a valid ID: an ID starts with a letter'],
    ['add option "x" to step 1', 'Step 1 (say): Good morning! is not a question, so it has no options.'],
    ['remove option "x" from step 2', 'Step 2 (ask): Which vendor? has no option "x".'],
    ['remove the timeout of step 3', 'Step 3 (exec): wc -l < invoices.csv has no timeout to remove.'],
    ['thanks', 'The request is empty.'],
    ['replace "Good morning!" with "Good morning!"', 'The request would not change the procedure.'],
  ])('gives the reason: %s', async (prompt, error) => {
    const outcome = await build(prompt);
    expect(outcome).toMatchObject({ status: 'failed', error: expect.stringContaining(error) });
  });

  it('reports a procedure that cannot be read', async () => {
    expect(await build('say "x"', { procedure: 'steps: [' })).toMatchObject({ status: 'failed' });
    expect(await build('say "x"', { procedure: 'steps: words' })).toEqual({
      status: 'failed',
      error: 'The `steps` of the procedure are not a list.',
    });
    expect(await build(Array.from({ length: 201 }, () => 'say "x"').join('\n'))).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('201 parts'),
    });
  });

  it.each<[string, string, string]>([
    ['a value that is not YAML', 'set result of step 1 to "{ok: [}"', 'steps:\n  - tool: { name: erp.lookup }\n'],
    ['a key below a text', 'set timeout of step 1 to 5m', 'steps:\n  - exec: ls\n'],
    ['an alias without its anchor', 'remove step 1', 'steps:\n  - say: &hello Hello\n  - say: *hello\n'],
  ])('reports what the YAML library refuses: %s', async (_, prompt, steps) => {
    expect(await build(prompt, { procedure: `version: 1\n${steps}` })).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/\.$/),
    });
  });

  it('does not hide an error of the service', async () => {
    const request = { procedure: base, prompt: 'say "x"', answers: {}, exec: 'host', browsing: true, connections: [] } as const;
    const diskFull = new Error('disk full');
    await expect(scriptBuilder.build(request, () => Promise.reject(diskFull))).rejects.toBe(diskFull);
  });
});

describe('what has to be set up', () => {
  const needs = async (prompt: string, procedure: string | null = 'version: 1\nsteps:\n  - say: one\n') =>
    (await proposal(prompt, { procedure })).setupChanges.map(({ type, name }) => `${type} ${name}`);

  it.each<[string, string[]]>([
    ['run "date"', ['exec exec']],
    ['run "sort < orders.csv > sorted.csv". run "cat sorted.csv"', ['exec exec', 'file orders.csv']],
    ['write "x" to in.txt. run "cat in.txt"', ['exec exec']],
    ['run "curl -H $API_TOKEN https://example.com/a"', ['exec exec', 'secret API_TOKEN']],
    ['call erp.lookup', ['connection erp']],
    ['take a screenshot of shots/a.png', ['file shots/a.png']],
    ['open "https://example.com"', ['browser browser']],
    ['say "x"', []],
    ['run it hourly', ['schedule every hour']],
    ['Run it every workday at 17:30', ['schedule every workday at 17:30']],
    ['schedule it weekly on Friday at 5pm', ['schedule every Friday at 17:00']],
    ['run it on the 3rd of every month', ['schedule every month on day 3']],
    ['run this every 15 minutes', ['schedule every 15 minutes']],
  ])('is listed: %s', async (prompt, expected) => {
    expect(await needs(prompt)).toEqual(expected);
  });

  it('is not listed if the procedure already needed it', async () => {
    expect(await needs('run "cat invoices.csv"', base)).toEqual([]);
  });
});
