import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

const noRun = '00000000-0000-4000-8000-000000000002';
const vendor = '- ask: { id: who, questions: [{ question: "Which vendor?", options: [{ label: Acme GmbH }, { label: Acme Inc }] }] }';
const centres =
  '- ask: { id: centres, questions: [{ question: "Cost centres", options: [{ label: Alpha }, { label: Beta }, { label: Gamma }], multi_select: true }] }';
const bothSteps = `
- ask:
    id: both
    questions:
      - { question: "Which vendor?", header: Vendor, options: [{ label: Acme GmbH }, { label: Acme Inc }] }
      - { question: "A note?" }
- say: "{{ answers.both['Which vendor?'] }} and {{ answers.both['A note?'] }}"`;
const pay = '- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: paid';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('runs respond', () => {
  it('approves the pending request', async () => {
    const run = await service.waiting(pay);
    const answerResult = await service.cli(['runs', 'respond', run, '--approve', '--json']);
    expect(answerResult).toMatchObject({ code: 0, stderr: '' });
    expect(answerResult.json()).toMatchObject({ run_id: run, title: 'Pay 3 invoices?' });
    await service.until(run, 'completed');
    expect(await service.texts(run)).toContain('paid');
  });

  it('denies the pending request', async () => {
    const run = await service.waiting(pay);
    expect((await service.cli(['runs', 'respond', run, '--deny'])).code).toBe(0);
    const { run: failedRun } = await service.until(run, 'failed');
    expect(failedRun.error).toContain('Pay 3 invoices?');
  });

  it('denies the request with a reason, which the run receives', async () => {
    const run = await service.waiting(pay);
    const argv = ['runs', 'respond', run, '--deny', '--reason'];
    const answerResult = await service.cli([...argv, '-', '--json'], { stdin: 'The amount is wrong: 12 €\n' });
    expect(answerResult).toMatchObject({ code: 0, stderr: '' });
    expect(answerResult.json()).toMatchObject({ response: 'denied: The amount is wrong: 12 €' });
    const { run: failedRun } = await service.until(run, 'failed');
    expect(failedRun.error).toContain('The amount is wrong: 12 €');
    expect(await service.texts(run)).toContain('Denied: Pay 3 invoices?\nThe amount is wrong: 12 €');
    expect((await service.cli(['runs', 'respond', await service.waiting(pay), '--deny', '--reason', ' '])).stderr).toContain(
      '--reason is empty.',
    );
  });

  it('approves the request with a reason, which the run receives', async () => {
    const run = await service.waiting(`${pay}\n- say: "because: {{ steps.pay.reason }}"`);
    const answerResult = await service.cli(['runs', 'respond', run, '--approve', '--reason', 'Within the budget', '--json']);
    expect(answerResult).toMatchObject({ code: 0, stderr: '' });
    expect(answerResult.json()).toMatchObject({ response: 'approved: Within the budget' });
    await service.until(run, 'completed');
    expect(await service.texts(run)).toEqual(expect.arrayContaining(['paid', 'because: Within the budget']));
  });

  it('reads an answer from a file or standard input, unless an option has that name', async () => {
    await service.file('note.md', 'first line\n\nlast = line\n');
    const run = await service.waiting(bothSteps);
    const answerResult = await service.cli(['runs', 'respond', run, '--answer', 'vendor=-', '--answer', 'A note?=@note.md'], {
      stdin: 'acme inc\n',
    });
    expect(answerResult).toMatchObject({ code: 0, stderr: '' });
    await service.until(run, 'completed');
    expect(await service.texts(run)).toContain('Acme Inc and first line\n\nlast = line');

    const handles = await service.waiting(
      '- ask: { id: a, questions: [{ question: "Who?", options: [{ label: "@anna" }, { label: "-" }] }] }',
    );
    const refusal = await service.cli(['runs', 'respond', handles, '--answer', '@bert']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('bert cannot be read: there is no such file.');
    expect((await service.cli(['runs', 'respond', handles, '--answer', 'Who?=@anna'])).code).toBe(0);
  });

  it.each([
    ['the answer alone', vendor, ['Acme Inc'], 'Acme Inc'],
    ['the answer in another case', vendor, ['acme gmbh'], 'Acme GmbH'],
    ['QUESTION=ANSWER', vendor, ['Which vendor?=Acme Inc'], 'Acme Inc'],
    ['several choices', centres, ['Cost centres=Alpha', 'Cost centres=Gamma'], 'Alpha, Gamma'],
    ['several choices in one', centres, ['alpha, beta'], 'Alpha, Beta'],
  ])('takes %s', async (_, steps, answers, storedAnswers) => {
    const run = await service.waiting(steps);
    const answerResult = await service.cli(['runs', 'respond', run, ...answers.flatMap((answer) => ['--answer', answer]), '--json']);
    expect(answerResult).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.stringify(answerResult.json())).toContain(storedAnswers);
    await service.until(run, 'completed');
  });

  it('answers several questions by question or header', async () => {
    const run = await service.waiting(bothSteps);
    const answerResult = await service.cli(['runs', 'respond', run, '--answer', 'vendor=Acme Inc', '--answer', 'A note?=1=1, really']);
    expect(answerResult.code).toBe(0);
    await service.until(run, 'completed');
    expect(await service.texts(run)).toContain('Acme Inc and 1=1, really');
  });

  it.each([
    [
      'an option that is not offered',
      vendor,
      ['--answer', 'Globex'],
      /"Globex" is not an option of "Which vendor\?"\.[\s\S]*The options are: Acme GmbH \| Acme Inc/,
    ],
    [
      'two answers where one is asked',
      vendor,
      ['--answer', 'Which vendor?=Acme GmbH', '--answer', 'Which vendor?=Acme Inc'],
      /accepts only one answer, not 2[\s\S]*Acme GmbH \| Acme Inc/,
    ],
    [
      'one choice of several that is not offered',
      centres,
      ['--answer', 'Cost centres=Alpha', '--answer', 'Cost centres=Delta'],
      /"Delta" is not an option[\s\S]*Alpha \| Beta \| Gamma/,
    ],
    [
      'a question that is not asked',
      vendor,
      ['--answer', 'Which colour?=red'],
      /does not name a question of this request[\s\S]*"Which vendor\?"/,
    ],
    ['an answer for one of two questions', bothSteps, ['--answer', 'Vendor=Acme Inc'], /An answer is missing for "A note\?"/],
    ['an empty answer', bothSteps, ['--answer', 'Vendor=Acme Inc', '--answer', 'A note?='], /"A note\?" needs an answer that is not empty/],
    ['an approval of a question', vendor, ['--approve'], /"Which vendor\?" is a question, not an approval\.[\s\S]*--answer/],
    ['an answer to an approval', pay, ['--answer', 'yes'], /"Pay 3 invoices\?" is an approval\.[\s\S]*--approve or --deny/],
    ['both decisions', pay, ['--approve', '--deny'], /--approve and --deny cannot be combined\. Nothing was sent\./],
    ['a decision and an answer', pay, ['--deny', '--answer', 'x'], /--deny and --answer cannot be combined\./],
    ['a reason without a decision', pay, ['--reason', 'x'], /--reason requires --approve or --deny\./],
    ['a reason with an answer', pay, ['--answer', 'x', '--reason', 'x'], /--reason requires --approve or --deny\./],
    ['no decision', pay, [], /No answer was specified\.[\s\S]*--approve, --deny, or --answer/],
  ])('rejects %s, and leaves the request pending', async (_, steps, argv, message) => {
    const run = await service.waiting(steps);
    const refusal = await service.cli(['runs', 'respond', run, ...argv]);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toMatch(message);
    const json = await service.cli(['runs', 'respond', run, ...argv, '--json']);
    expect(json).toMatchObject({ code: 2, stdout: '' });
    expect((JSON.parse(json.stderr) as { error: unknown }).error).toMatchObject({ exit: 2 });
    expect((await service.get(run)).request).not.toBeNull();
  });

  it('rejects a second answer to the same request', async () => {
    const run = await service.waiting(`${pay}\n- sleep: 1h`);
    const { request } = await service.get(run);
    expect((await service.cli(['runs', 'respond', run, request?.id ?? '', '--approve'])).code).toBe(0);
    const second = await service.cli(['runs', 'respond', run, request?.id ?? '', '--deny', '--json']);
    expect(second).toMatchObject({ code: 6, stdout: '' });
    expect((JSON.parse(second.stderr) as { error: unknown }).error).toMatchObject({ exit: 6, status: 409 });
    const nothingPending = await service.cli(['runs', 'respond', run, '--approve']);
    expect(nothingPending).toMatchObject({ code: 6, stdout: '' });
    expect(nothingPending.stderr).toContain('error: The run is not waiting for an answer');
    await service.cli(['runs', 'stop', run]);
  });

  it('reports a missing request', async () => {
    const run = await service.waiting(pay);
    const refusal = await service.cli(['runs', 'respond', run, noRun, '--approve']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect((await service.get(run)).request).not.toBeNull();
  });
});
