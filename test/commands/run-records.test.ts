import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

const noRun = '00000000-0000-4000-8000-000000000002';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('the records of a run are listed and shown:', () => {
  // A picture with a single pixel.
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  let run: string;
  beforeAll(async () => {
    run = await service.run(`
- exec: { run: "echo ${png} | base64 -d > shot.png" }
- screenshot: { path: shot.png, title: "The page", url: "https://erp.example.test/invoices" }
- say: done`);
    await service.until(run, 'completed');
  });

  it('messages', async () => {
    const listResult = await service.cli(['runs', 'messages', run, '--all', '--json']);
    expect(listResult).toMatchObject({ code: 0, stderr: '' });
    const { data, total } = listResult.json<{ data: { text_content?: string; tool_call?: { name: string } }[]; total: number }>();
    expect(total).toBe(data.length);
    expect(data.at(-1)).toMatchObject({ text_content: 'done' });
    expect(data.map(({ tool_call }) => tool_call?.name)).toContain('exec');
    const jq = await service.cli(['runs', 'messages', run, '--all', '--jq', '.data[-1].text_content']);
    expect(jq).toMatchObject({ code: 0, stdout: 'done\n', stderr: '' });
  });

  it('detail and report', async () => {
    const detail = await service.cli(['runs', 'detail', run, '--json']);
    expect(detail).toMatchObject({ code: 0, stderr: '' });
    expect(detail.json()).toMatchObject({ id: run, status: 'completed' });
    const report = await service.cli(['runs', 'report', run, '--json']);
    expect(report).toMatchObject({ code: 0, stderr: '' });
    expect(report.json()).toMatchObject({ reachedCompletion: true, errors: 0 });
    expect((await service.cli(['runs', 'report', run])).stdout).toContain('Completed\tyes\n');
    expect((await service.cli(['runs', 'detail', run])).stdout).toContain('Status\tcompleted\n');
  });

  it('detail and report in sections on a terminal', async () => {
    const detail = await service.cli(['runs', 'detail', run], { tty: true, columns: 100, env: { NO_COLOR: '1' } });
    expect(detail).toMatchObject({ code: 0, stderr: '' });
    expect(detail.stdout).toMatch(/^Run\n {2}Number: +1\n {2}ID: +\S+\n {2}Status: +completed\n/);
    expect(detail.stdout).toMatch(/\n\nConversation\n {2}Messages: +\d+\n {2}Tool calls: +2\n {2}Prompts: +0\n {2}Resumed: +never\n/);
    expect(detail.stdout).toMatch(/\n\nSessions\n {2}Browser: +\S+\n$/);
    // Empty sections are omitted.
    expect(detail.stdout).not.toMatch(/Handover|Integrations/);
    const report = await service.cli(['runs', 'report', run], { tty: true, columns: 100, env: { NO_COLOR: '1' } });
    expect(report.stdout).toBe(`Outcome
  Completed:    yes
  Stop reasons: completed
  Provider:     script

Work
  Steps:        3 of 3
  Calls:        2
  Handoffs:     0
  Errors:       0
  Programmatic: 100% (expected)
`);
  });

  it('pages, as links if the terminal supports them', async () => {
    const terminal = { tty: true, columns: 100 };
    const plainResult = await service.cli(['runs', 'pages', run], { ...terminal, env: { NO_COLOR: '1' } });
    expect(plainResult.stdout).toContain('https://erp.example.test/invoices');
    expect(plainResult.stdout).not.toContain('\u001b');
    const linkResult = await service.cli(['runs', 'pages', run], { ...terminal, env: { NO_COLOR: '1', FORCE_HYPERLINK: '1' } });
    expect(linkResult.stdout).toContain('\u001b]8;;https://erp.example.test/invoices\u001b\\The page\u001b]8;;\u001b\\');
    const pipedResult = await service.cli(['runs', 'pages', run], { env: { FORCE_HYPERLINK: '1' } });
    expect(pipedResult.stdout).toMatch(/^The page\thttps:\/\/erp.example.test\/invoices\thttp:\S+\n$/);
  });

  it('screenshots by agent, but not by another agent', async () => {
    const { run: runDetail } = await service.get(run);
    const shots = await service.cli(['runs', 'screenshots', run, '--agent', runDetail.agent_id as string, '--json']);
    expect(shots).toMatchObject({ code: 0, stderr: '' });
    expect(shots.json()).toMatchObject({ total: 1 });
    const otherAgent = await service.agent('- say: hi', 'stranger');
    expect(otherAgent).toBeDefined();
    expect(await service.cli(['runs', 'screenshots', run, '--agent', 'stranger'])).toMatchObject({ code: 3, stdout: '' });
  });

  it('no pages without a browser', async () => {
    const quietRun = await service.run('- say: done');
    await service.until(quietRun, 'completed');
    const pages = await service.cli(['runs', 'pages', quietRun, '--json']);
    expect(pages).toMatchObject({ code: 0, stderr: '' });
    expect(pages.json()).toMatchObject({ data: [], total: 0 });
  });

  it('screenshots, which can be saved without overwriting files', async () => {
    const saveResult = await service.cli(['runs', 'screenshots', run, '--save', 'shots']);
    expect(saveResult.code).toBe(0);
    expect(saveResult.stderr).toMatch(/^Saved 1 picture to .*shots\n$/);
    expect(await service.read('shots/001-after.png')).toContain('PNG');
    const repeatResult = await service.cli(['runs', 'screenshots', run, '--save', 'shots']);
    expect(repeatResult).toMatchObject({ code: 2, stdout: '' });
    expect(repeatResult.stderr).toContain('--force');
    expect((await service.cli(['runs', 'screenshots', run, '--save', 'shots', '--force'])).code).toBe(0);
  });

  it('files, which can be downloaded', async () => {
    const files = await service.cli(['runs', 'files', run, '--json']);
    expect(files).toMatchObject({ code: 0, stderr: '' });
    const { data, total } = files.json<{ data: { id: string; name: string }[]; total: number }>();
    expect(total).toBe(1);
    const [file] = data;
    expect(file?.name).toBe('shot.png');
    const download = await service.cli(['runs', 'files', run, file?.id ?? '', '--to', 'recorded', '--json']);
    expect(download.code).toBe(0);
    expect(download.stderr).toContain('Saved ');
    const refusal = await service.cli(['runs', 'files', run, noRun, '--to', 'recorded']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
  });
});
