import { beforeAll, describe, expect, it } from 'vitest';
import type { Schedule } from '../../src/interface/types.ts';
import { startTestService, type TestService } from '../support/service.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'shop');
});

const schedules = (...argv: string[]) => service.cli(['agents', 'schedules', ...argv]);

describe('agents schedules', () => {
  it('are created, changed, shown and deleted', async () => {
    const flags = ['--frequency', 'workday', '--time', '08:30', '--timezone', 'Europe/Berlin', '--task', 'Look'];
    const createResult = await schedules('create', 'shop', ...flags, '--json');
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    const { id } = createResult.json<Schedule>();
    expect(createResult.json()).toMatchObject({
      frequency: 'workday',
      time: '08:30',
      timezone: 'Europe/Berlin',
      task: 'Look',
      enabled: true,
    });

    const list = await service.cli(['agents', 'schedules', 'list', 'shop', '--color', 'never'], { tty: true, columns: 120 });
    expect(list.stdout).toMatch(
      new RegExp(
        `ID +STATUS +WHEN +NEXT +TIME ZONE +LAST RUN +TASK\n${id} +active +Monday to Friday at 08:30 +in \\d\\S+ +Europe/Berlin +Look`,
      ),
    );
    const changeResult = await schedules('update', 'shop', id, '--day', 'friday', '--no-enabled', '--once', '--json');
    expect(changeResult.json()).toMatchObject({
      frequency: 'weekly',
      day: 'friday',
      time: '09:00',
      enabled: false,
      recurring: false,
      task: 'Look',
    });
    const result = await service.cli(['agents', 'schedules', 'get', 'shop', id, '--color', 'never'], { tty: true });
    expect(result.stdout).toMatch(/Status: +off\nWhen: +every Friday at 09:00\nTime zone: +Europe\/Berlin\nRecurring: +no\nTask: +Look\n/);

    expect(await schedules('delete', 'shop', id)).toMatchObject({ code: 2, stdout: '' });
    expect(await schedules('delete', 'shop', id, '--yes')).toMatchObject({
      code: 0,
      stdout: 'Deleted the schedule (every Friday at 09:00).\n',
      stderr: '',
    });
    expect((await schedules('list', 'shop')).stderr).toContain('There are no schedules.');
  });

  it('can be omitted if the agent has only one', async () => {
    await service.agent('- say: hi', 'single');
    expect((await schedules('get', 'single')).stderr).toBe(
      'error: The agent has no schedules.\nhint: Create one with `aops agents schedules create AGENT --frequency daily`.\n',
    );
    const first = (await schedules('create', 'single', '--frequency', 'daily', '-o', 'id')).stdout.trim();
    expect((await schedules('get', 'single', '-o', 'id')).stdout.trim()).toBe(first);
    expect((await schedules('update', 'single', '--time', '10:00', '--json')).json()).toMatchObject({ id: first, time: '10:00' });
    const second = (await schedules('create', 'single', '--frequency', 'hourly', '-o', 'id')).stdout.trim();
    const ambiguousResult = await schedules('delete', 'single', '--yes');
    expect(ambiguousResult).toMatchObject({ code: 2, stdout: '' });
    expect(ambiguousResult.stderr).toContain('error: The agent has 2 schedules.');
    expect(ambiguousResult.stderr).toContain(`${first} (every day at 10:00)`);
    const refusal = await schedules('get', 'single', unknownId);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toContain(second);
  });

  it('accept cron expressions and days of the month, in the time zone of this machine', async () => {
    const cron = (await schedules('create', 'shop', '--cron', '0 */4 * * 1-5', '--no-enabled', '--json')).json<Schedule>();
    expect(cron).toMatchObject({ frequency: 'custom', cron: '0 */4 * * 1-5', enabled: false });
    expect(cron.timezone).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone);
    const monthly = (await schedules('create', 'shop', '--day-of-month', '31', '--no-enabled', '--json')).json<Schedule>();
    expect(monthly).toMatchObject({ frequency: 'monthly', day_of_month: 31 });
  });

  it.each<[string, string[], number, string | RegExp]>([
    ['no frequency', ['create', 'shop'], 2, '--frequency'],
    ['an invalid time, also without a frequency', ['create', 'shop', '--time', '25:00'], 2, '--time "25:00" is not a time of day.'],
    ['a time without its leading zero', ['next', '--frequency', 'daily', '--time', '9:00'], 2, 'such as 09:00'],
    [
      'a day of the month that does not exist',
      ['create', 'shop', '--day-of-month', '32'],
      2,
      '--day-of-month must be a whole number, 1 to 31',
    ],
    ['two ways to say how often', ['create', 'shop', '--cron', '* * * * *', '--frequency', 'daily'], 2, 'cannot be combined'],
    ['an invalid day', ['create', 'shop', '--day', 'mon'], 2, 'monday'],
    [
      'an invalid time zone',
      ['create', 'shop', '--frequency', 'daily', '--timezone', 'Europe/Berln'],
      2,
      'such as Europe/Berlin or UTC (did you mean Europe/Berlin?).\n',
    ],
    ['an invalid cron expression', ['create', 'shop', '--cron', '0 9 * *'], 2, 'five fields'],
    ['nothing to change', ['update', 'shop', unknownId], 2, 'nothing to change'],
    ['a missing schedule', ['update', 'shop', unknownId, '--enabled'], 3, unknownId],
    ['a missing schedule in get', ['get', 'shop', unknownId], 3, unknownId],
    ['a missing agent', ['list', 'shopp'], 3, 'Did you mean shop?'],
    ['neither agent nor times', ['next'], 2, '--frequency'],
    ['times together with an agent', ['next', 'shop', '--frequency', 'daily'], 2, 'cannot be combined'],
    ['times that never occur', ['next', '--cron', '0 0 30 2 *'], 2, 'never'],
  ])('reject %s', async (_, argv, code, word) => {
    const refusal = await schedules(...argv);
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toMatch(word);
  });
});

describe('agents schedules next', () => {
  it('shows times without creating a schedule', async () => {
    const argv = [
      'next',
      '--day-of-month',
      '31',
      '--time',
      '02:30',
      '--timezone',
      'Europe/Berlin',
      '--count',
      '3',
      '--from',
      '2027-02-01T00:00Z',
    ];
    const tryResult = await schedules(...argv, '--json');
    expect(tryResult).toMatchObject({ code: 0, stderr: '' });
    expect(tryResult.json<{ data: unknown[] }>().data).toEqual(
      [
        ['2027-02-28T01:30:00.000Z', 'Sun 2027-02-28 02:30 GMT+1'],
        ['2027-03-31T00:30:00.000Z', 'Wed 2027-03-31 02:30 GMT+2'],
        ['2027-04-30T00:30:00.000Z', 'Fri 2027-04-30 02:30 GMT+2'],
      ].map(([timestamp, local]) => ({
        at: timestamp,
        local,
        when: 'every month on day 31 at 02:30',
        timezone: 'Europe/Berlin',
        schedule_id: null,
      })),
    );
  });

  it('merges all enabled schedules, and shows a one-time schedule once', async () => {
    const agent = await service.agent('- say: hi', 'two');
    const make = async (...flags: string[]) => (await schedules('create', 'two', '--timezone', 'UTC', ...flags, '-o', 'id')).stdout.trim();
    const daily = await make('--frequency', 'daily', '--time', '12:00');
    const onceSchedule = await make('--frequency', 'daily', '--time', '13:00', '--once');
    const disabledSchedule = await make('--frequency', 'hourly', '--no-enabled');
    const fromFlags = ['--from', '2027-01-01T00:00Z', '--json'];
    const rows = (await schedules('next', agent, '--count', '3', ...fromFlags)).json<{ data: { at: string; schedule_id: string }[] }>()
      .data;
    expect(rows.map(({ at, schedule_id }) => [at.slice(0, 13), schedule_id])).toEqual([
      ['2027-01-01T12', daily],
      ['2027-01-01T13', onceSchedule],
      ['2027-01-02T12', daily],
    ]);
    expect((await schedules('next', 'two', disabledSchedule, ...fromFlags)).json<{ data: unknown[] }>().data).toHaveLength(5);
  });
});

describe('agents get and list', () => {
  it('show the related resources of an agent and its next run', async () => {
    const id = await service.agent('- remember: { path: notes.md, content: x }', 'whole');
    await service.until(await service.start(id), 'completed');
    await schedules('create', 'whole', '--frequency', 'daily', '--timezone', 'UTC');
    await schedules('create', 'whole', '--frequency', 'hourly', '--no-enabled');
    await service.cli(['agents', 'rubrics', 'create', 'whole', 'Fine', '--description', 'No tool call failed.']);
    await service.cli(['agents', 'update', 'whole', '--pinned']);
    const result = await service.cli(['agents', 'get', 'whole', '--color', 'never'], { tty: true });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(
      /Pinned: +just now\nRevision: +1 \(live\)\nRuntime: +script\nSchedules: +2\nNext run: +in \d+[mh]\nRubrics: +1\nMemory files: +1\nLast run: +just now\n/,
    );
    expect(result.stdout).toMatch(/Last run status: +completed\n$/);
    await service.cli(['revisions', 'create', 'whole']);
    const draftResult = await service.cli([
      'agents',
      'get',
      'whole',
      '--jq',
      '[.live_revision, .latest_revision][] | "\\(.revision_number) \\(.status) \\(.runtime)"',
    ]);
    expect(draftResult.stdout).toBe('1 live script\n2 draft script\n');
    expect((await service.cli(['agents', 'get', 'whole'])).stdout).toContain('Revision\t1 (live); 2 is a draft\n');
    const json = (await service.cli(['agents', 'get', 'whole', '--json'])).json<{ schedules: Schedule[]; pinned_at: string }>();
    expect(json.schedules).toHaveLength(2);
    expect(json.pinned_at).toMatch(/Z$/);
    const list = await service.cli(['agents', 'list', '--schedules', '--color', 'never'], { tty: true, columns: 130 });
    expect(list.stdout).toMatch(/^ID +NAME +RUNTIME +REVISION +LAST RUN +QUEUE +NEXT RUN\n/);
    expect(list.stdout).toMatch(/whole +script +2 +just now +in \d+[mh]\n/);
    expect((await service.cli(['agents', 'list', '--automation', unknownId, '--json'])).json<{ total: number }>().total).toBe(0);
  });
});
