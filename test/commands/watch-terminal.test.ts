/** `runs watch` of one run for a person at a terminal: what happens to the prompt of its request. */
import { beforeAll, describe, expect, it } from 'vitest';
import { keys } from '../support/screen.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const approval = '- approve: { id: pay, title: "Pay?" }\n- say: paid';

/** A watch whose prompt is open. */
async function prompted() {
  const run = await service.waiting(approval);
  const terminal = service.terminal('runs', 'watch', run);
  await terminal.asks('Leave it pending');
  return { run, terminal };
}

describe('the prompt of a watch', () => {
  it('chooses nothing with Enter alone, and leaves the request pending with Escape', async () => {
    const { run, terminal } = await prompted();
    terminal.type(keys.enter, keys.escape);
    const { code, stderr } = await terminal.end;
    expect(code).toBe(12);
    expect(stderr).toContain('Left pending: Pay?');
    expect(stderr).toContain(`aops runs respond ${run} --approve`);
    expect(stderr).not.toContain('error:');
    expect((await service.get(run)).run.status).toBe('waiting');
  });

  it('says that somebody else has answered', async () => {
    const { run, terminal } = await prompted();
    await service.cli(['runs', 'respond', run, '--approve']);
    expect(await terminal.end).toMatchObject({ code: 0, stderr: expect.stringContaining('Somebody else answered.') });
  });

  it('does not say so if the run was stopped', async () => {
    const { run, terminal } = await prompted();
    await service.cli(['runs', 'stop', run, '--yes']);
    const { code, stderr } = await terminal.end;
    expect([code, stderr.includes('Somebody else answered.')]).toEqual([11, false]);
  });
});
