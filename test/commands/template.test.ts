/** The flag --template: it prints rows in any form, and an invalid template is reported before anything is changed. */
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'greeter');
});

describe('--template', () => {
  it('prints each row of a list, in every output format', async () => {
    for (const format of ['table', 'json', 'ndjson'])
      expect(await service.cli(['agents', 'list', '-o', format, '--template', '{{ name }}!'])).toMatchObject({
        code: 0,
        stdout: 'greeter!\n',
      });
  });

  it('prints nothing for an empty list, but still rejects a field that does not exist', async () => {
    expect(await service.cli(['queues', 'list', '--template', '{{ name }}'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await service.cli(['queues', 'list', '--template', '{{ nmae }}'])).toMatchObject({ code: 2, stdout: '' });
  });

  it('prints a run that is waiting, together with exit code 12', async () => {
    const run = await service.run('- approve: { id: ok, title: "Pay?" }');
    const watched = await service.cli(['runs', 'watch', run, '--template', '{{ status }}: {{ pending_human_request.title }}']);
    expect(watched).toMatchObject({ code: 12, stdout: 'waiting: Pay?\n' });
  });

  it.each([
    ['an invalid template', ['--template', '{{ name']],
    ['a template together with --jq', ['--template', '{{ name }}', '--jq', '.name']],
    ['a template together with --fields', ['--template', '{{ name }}', '--fields', 'name']],
  ])('changes nothing with %s', async (_, flags) => {
    const refusal = await service.cli(['queues', 'create', 'invoices', ...flags]);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--template') });
    expect((await service.cli(['queues', 'list', '-o', 'id'])).stdout).toBe('');
  });
});
