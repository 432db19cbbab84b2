/** Hostile text in notes and warnings about what a command does: each remains one line, so that it cannot fake another. */
import { expect, it } from 'vitest';
import { AopsError } from '../../src/base/errors.ts';
import { outageNotes } from '../../src/cli/following/outage.ts';
import type { Context } from '../../src/cli/kit/context.ts';
import { readBack } from '../../src/cli/kit/secondary-requests.ts';
import { warnOfConflict } from '../../src/commands/agents/triggers/record.ts';
import { reminderLine } from '../../src/commands/inbox/heading.ts';
import { confirmLoss } from '../../src/commands/queues/confirm-loss.ts';
import { answerRun } from '../../src/commands/runs/board/prompts.ts';
import { noteGaps } from '../../src/commands/sandbox/repository/show.ts';
import { expectHarmless, expectNoFakeHint, hostileText } from '../support/hostile-text.ts';
import { fakeTerminal } from '../terminal/fake-streams.ts';

const id = '01a21d96-f137-73e7-ad4c-c280b6edcba6';
const answers: Record<string, unknown> = {
  getQueue: { queue: { id, name: hostileText } },
  searchCases: { cases: [], total: 0 },
  getRun: {
    pending_human_request: { id, type: 'approval', title: hostileText, description: null, created_at: '2026-07-18T09:00:00.000Z' },
  },
};
const client = { call: async (operation: string) => answers[operation] };

it.each<[string, (context: Context) => unknown]>([
  [
    'a result that cannot be read back',
    (context) =>
      readBack(
        context,
        Promise.reject(new AopsError(hostileText, { code: 'internal_error', exit: 1 })),
        undefined,
        'The agent was created',
      ),
  ],
  [
    'other agents of a queue',
    (context) =>
      warnOfConflict(context, {
        enabled: true,
        has_conflict: true,
        conflicting_agents: [{ agent_name: hostileText }],
        case_queue_name: hostileText,
      } as never),
  ],
  ['a queue whose cases are deleted', (context) => confirmLoss(context, id, () => 'Delete it?')],
  [
    'an outage of the service',
    (context) => outageNotes({ ...context, clock: { now: () => 0 } as Context['clock'] })({ since: 0, reason: hostileText }),
  ],
  [
    'changes of a run in nested repositories',
    (context) => noteGaps(context, { nested_repositories: [hostileText], files: [], total_files: 0 } as never),
  ],
  [
    'a run of the board',
    (context) =>
      answerRun({
        ...{ context, client: client as never, run: { id } as never, leaveScreen: () => undefined },
        ...{ row: { name: '#7', agent: hostileText, title: hostileText } as never, end: AbortSignal.abort(new Error('over')) },
      }).catch(() => undefined),
  ],
])('%s', async (_, show) => {
  const { terminal, stderr } = fakeTerminal({ tty: true, columns: 80 });
  await show({ terminal, flags: { yes: true }, client: async () => client, signal: new AbortController().signal } as unknown as Context);
  await terminal.flush();
  expect(stderr()).toContain('plain');
  expectHarmless(stderr());
  expectNoFakeHint(stderr());
});

it('a reminder of a request', () => {
  const request = {
    run_id: hostileText,
    run_number: null,
    agent_name: hostileText,
    title: hostileText,
    created_at: '',
    profile: hostileText,
  };
  expect(reminderLine(request as never, 0)).not.toContain('\n');
});
