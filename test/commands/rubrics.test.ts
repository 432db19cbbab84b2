import { beforeAll, describe, expect, it } from 'vitest';
import type { PlatformRubric, Rubric, RunListItem } from '../../src/interface/types.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let agent: string;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent('- say: "Invoice {{ message }}."', 'shop');
});

const rubrics = (...argv: string[]) => service.cli(['agents', 'rubrics', ...argv]);
const description = 'Critical: the final message contains "paid" and the tone is kind.';

async function runToEnd(message: string): Promise<string> {
  const run = await service.start(agent, message);
  await service.until(run, 'completed');
  return run;
}

describe('agents rubrics', () => {
  it('are created, changed and deleted by slug', async () => {
    const createResult = await rubrics('create', 'shop', 'Says paid', '--description', description, '--json');
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    expect(createResult.json()).toMatchObject({ slug: 'says-paid', severity: 'critical', unclear: ['the tone is kind'] });
    const list = await service.cli(['agents', 'rubrics', 'list', 'shop', '--color', 'never'], { tty: true, columns: 120 });
    expect(list.stdout).toMatch(/^RUBRIC +SEVERITY +CHECKED +DESCRIPTION\nsays-paid +critical +partly +Critical: the final/);
    const changeResult = await rubrics('update', 'shop', 'says-paid', '--description', 'Low: the final message contains "paid".', '--json');
    expect(changeResult.json()).toMatchObject({ severity: 'low', unclear: [], title: 'Says paid' });
    expect(await rubrics('delete', 'shop', 'says-paid')).toMatchObject({ code: 2, stdout: '' });
    expect(await rubrics('delete', 'shop', 'says-paid', '--yes')).toMatchObject({ code: 0, stdout: 'Deleted the rubric "Says paid".\n' });
    expect((await rubrics('list', 'shop')).stderr).toContain('There are no rubrics.');
  });

  it('are replaced with those in a YAML file or the JSON of the list', async () => {
    await service.file(
      'r.yaml',
      '- { title: One rubric, description: No tool call failed. }\n- { title: Two rubrics, description: "Low: the run completed." }\n',
    );
    const refusal = await rubrics('replace', 'shop', '--from', 'r.yaml');
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('Replace 0 rubrics with 2');
    expect((await rubrics('replace', 'shop', '--from', 'r.yaml', '--yes')).code).toBe(0);
    const rubricList = (await rubrics('list', 'shop', '--json')).json<{ data: Rubric[] }>().data;
    expect(rubricList.map(({ slug, severity }) => [slug, severity])).toEqual([
      ['one-rubric', 'medium'],
      ['two-rubrics', 'low'],
    ]);
    const json = JSON.stringify({ rubrics: rubricList.slice(1) });
    const repeatResult = await service.cli(['agents', 'rubrics', 'replace', 'shop', '--from', '-', '--yes', '--json'], { stdin: json });
    expect(repeatResult.json<{ data: Rubric[] }>().data).toMatchObject([{ id: rubricList[1]?.id, sort_order: 1 }]);
    await rubrics('delete', 'shop', 'two-rubrics', '--yes');
  });

  it('can belong to a revision', async () => {
    const revisionFlags = ['--revision', 'live'];
    await rubrics('create', 'shop', 'Of the first', '--description', 'The run completed in time. The run completed.', ...revisionFlags);
    expect((await rubrics('list', 'shop', ...revisionFlags, '--json')).json<{ data: Rubric[] }>().data).toHaveLength(1);
    expect((await rubrics('list', 'shop', '--json')).json<{ data: Rubric[] }>().data).toEqual([]);
    expect((await rubrics('delete', 'shop', 'of-the-first', ...revisionFlags, '--yes')).code).toBe(0);
  });

  it('are separate from those of the platform', async () => {
    const platform = (await rubrics('platform', 'shop', '--json')).json<{ data: PlatformRubric[] }>().data;
    expect(platform.map(({ key }) => key)).toEqual(['run_failed', 'tool_error', 'run_stopped', 'approval_denied']);
  });

  it.each<[string, string[], number, string]>([
    ['a title that is too short', ['create', 'shop', 'ab', '--description', description], 2, 'TITLE must have at least 3 characters'],
    ['a description that is too short', ['create', 'shop', 'abc', '--description', 'short'], 2, '--description'],
    ['nothing to change', ['update', 'shop', 'x'], 2, 'nothing to change'],
    ['a missing rubric', ['update', 'shop', 'says-pad', '--title', 'abc'], 3, 'no rubric "says-pad"'],
    ['an invalid revision', ['list', 'shop', '--revision', 'junk'], 2, '--revision must be a revision, not "junk".'],
    ['a missing file', ['replace', 'shop', '--from', 'nowhere.yaml', '--yes'], 2, 'no such file'],
    ['a file with other content', ['replace', 'shop', '--from', 'other.yaml', '--yes'], 2, 'entry 1'],
    [
      'a file with more than five',
      ['replace', 'shop', '--from', 'six.yaml', '--yes'],
      2,
      'six.yaml has 6 rubrics, but at most 5 can be set',
    ],
    ['a file without a list', ['replace', 'shop', '--from', 'text.yaml', '--yes'], 2, 'not a list'],
  ])('reject %s', async (_, argv, code, word) => {
    await service.file('other.yaml', '- { title: x }\n');
    await service.file('text.yaml', 'hello\n');
    const six = Array.from({ length: 6 }, (_, index) => ({ title: `Rubric ${index}`, description }));
    await service.file('six.yaml', JSON.stringify(six));
    const refusal = await rubrics(...argv);
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toContain(word);
  });
});

describe('runs evaluation', () => {
  it('shows the result of each rubric and can fail a script', async () => {
    await rubrics('create', 'shop', 'Says paid', '--description', 'The final message contains "paid" (medium).');
    const goodRun = await runToEnd('paid');
    const badRun = await runToEnd('open');
    expect((await service.cli(['runs', 'evaluation', goodRun, '--wait', '--fail-on', 'low'])).code).toBe(0);
    const sheet = await service.cli(['runs', 'evaluation', badRun, '--wait', '--color', 'never'], { tty: true, columns: 120 });
    expect(sheet).toMatchObject({ code: 0, stderr: '' });
    expect(sheet.stdout).toMatch(
      /^Evaluation\n +Status: +ready\n +Passed: +4 of 5\n +Issues: +1 medium\n\nRESULT +SEVERITY +RUBRIC +WHY\nfailed +medium +Says paid +final message contains/,
    );
    const gate = await service.cli(['runs', 'evaluation', badRun, '--fail-on', 'medium', '--json']);
    expect(gate.code).toBe(1);
    expect(gate.json()).toMatchObject({ status: 'ready', passed: 4, severityCounts: { medium: 1 } });
    expect(gate.stderr).toContain('rubrics_failed');
    expect(gate.stderr).toContain('1 rubric of severity medium or worse failed.');
    expect((await service.cli(['runs', 'evaluation', badRun, '--fail-on', 'critical'])).code).toBe(0);
    const issues = await service.cli(['runs', 'list', '--has-issues', '--color', 'never'], { tty: true, columns: 120 });
    expect(issues.stdout).toMatch(/^RUN +STATUS +TITLE +AGENT +ISSUES +CREATED( +ID)?\n[^\n]+ +open +shop +1 medium /);
    const runList = (await service.cli(['runs', 'list', '--issue-severity', 'medium', '--json'])).json<{ data: RunListItem[] }>().data;
    expect(runList.map(({ id }) => id)).toEqual([badRun]);
    expect((await service.cli(['runs', 'detail', badRun])).stdout).toContain('4 of 5 passed (1 medium)');
  });

  it('fails if no rubric could be decided', async () => {
    const agent = await service.agent('- say: paid', 'unclear');
    await service.cli(['agents', 'rubrics', 'create', agent, 'Is kind', '--description', 'The tone of all messages is kind.']);
    const run = await service.start(agent);
    const gate = ['runs', 'evaluation', run, '--wait'];
    expect((await service.cli(gate)).code).toBe(0);
    const closeResult = await service.cli([...gate, '--fail-on', 'critical', '--json']);
    expect(closeResult.code).toBe(1);
    expect(closeResult.json()).toMatchObject({ status: 'unavailable' });
    expect(closeResult.stderr).toContain('rubrics_undecided');
  });

  it('reports that a run has not finished', async () => {
    const waitingRun = await service.waiting('- approve: { id: a, title: Go? }');
    const refusal = await service.cli(['runs', 'evaluation', waitingRun]);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toContain('its status is waiting.');
  });
});
