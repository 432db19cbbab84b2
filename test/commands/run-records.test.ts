import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

const noRun = '00000000-0000-4000-8000-000000000002';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('what a run leaves behind', () => {
  // A picture of one pixel.
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  let run: string;
  beforeAll(async () => {
    run = await service.run(`
- exec: { run: "echo ${png} | base64 -d > shot.png" }
- screenshot: { path: shot.png, title: "The page" }
- say: done`);
    await service.until(run, 'completed');
  });

  it('messages', async () => {
    const listed = await service.cli(['runs', 'messages', run, '--all', '--json']);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const { data, total } = listed.json<{ data: { text_content?: string; tool_call?: { name: string } }[]; total: number }>();
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

  it('no pages, where there is no browser', async () => {
    const pages = await service.cli(['runs', 'pages', run, '--json']);
    expect(pages).toMatchObject({ code: 0, stderr: '' });
    expect(pages.json()).toMatchObject({ data: [], total: 0 });
  });

  it('screenshots, which can be saved once', async () => {
    const saved = await service.cli(['runs', 'screenshots', run, '--save', 'shots']);
    expect(saved.code).toBe(0);
    expect(saved.stderr).toMatch(/^Saved 1 picture to .*shots\n$/);
    expect(await service.read('shots/001-after.png')).toContain('PNG');
    const again = await service.cli(['runs', 'screenshots', run, '--save', 'shots']);
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('--force');
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
    const missing = await service.cli(['runs', 'files', run, noRun, '--to', 'recorded']);
    expect(missing).toMatchObject({ code: 3, stdout: '' });
  });
});
