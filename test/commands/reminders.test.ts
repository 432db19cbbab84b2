/** The setting for reminders, and the lines about requests. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { PendingRequest } from '../../src/cli/following/pending-requests.ts';
import { heading, reminderLine } from '../../src/commands/inbox/heading.ts';
import { startTestService, type TestService } from '../support/service.ts';

describe('aops local team update --remind-after', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  const update = (...flags: string[]) => service.cli(['local', 'team', 'update', service.service.teamId, ...flags]);

  it('sets and removes the time', async () => {
    expect((await update('--remind-after', '1h30m')).stdout).toMatch(/^Reminders\tafter 1h 30m$/m);
    expect((await update('--name', 'Finance', '--json')).json()).toMatchObject({ name: 'Finance', remind_after_seconds: 5_400 });
    expect((await update('--remind-after', 'off', '--json')).json()).toMatchObject({ name: 'Finance', remind_after_seconds: null });
    expect((await update('--name', 'Mine')).stdout).not.toContain('Reminders');
  });

  it('rejects other values', async () => {
    for (const value of ['soon', '59s', '31d', '0'])
      expect(await update('--remind-after', value)).toMatchObject({ code: 2, stderr: expect.stringContaining('from 1m to 30d') });
    expect(await update()).toMatchObject({ code: 2, stderr: expect.stringContaining('Pass --name or --remind-after.') });
  });
});

describe('the lines about a request', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  const request = {
    title: 'Pay?',
    created_at: '2026-11-20T09:00:00Z',
    run_id: 'r1',
    run_number: 7,
    run_title: 'March\u001b[31m',
    agent_name: 'payer',
  } as PendingRequest;

  it('contain the run, the age, and the position', () => {
    expect(heading(request, { position: 2, total: 5 }, now)).toBe('#7  payer: March^[[31m  waiting for 3h  2 of 5');
    expect(heading(request, { position: 1, total: 1 }, now)).toBe('#7  payer: March^[[31m  waiting for 3h');
    expect(heading({ ...request, run_number: null }, { position: 1, total: 1 }, now)).toBe('payer: March^[[31m  waiting for 3h');
    // The clock of the service may be ahead.
    expect(heading({ ...request, created_at: '2026-11-20T12:00:09Z' }, { position: 1, total: 1 }, now)).toContain('waiting for 0s');
  });

  it('remind of it', () => {
    expect(reminderLine(request, now)).toBe('Reminder: payer #7 has been waiting for 3h: Pay?');
    expect(reminderLine({ ...request, profile: 'prod' }, now)).toBe('Profile prod: Reminder: payer #7 has been waiting for 3h: Pay?');
  });
});
