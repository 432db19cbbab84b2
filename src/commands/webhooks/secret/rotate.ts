import { parseDuration } from '../../../base/duration.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { duration, flag } from '../../../cli/kit/flags.ts';
import { returns } from '../../../cli/kit/result.ts';
import { displaySecret, revealFlag, secretOutput } from './shown.ts';

export default defineCommand({
  summary: 'Replace the signing secret',
  description:
    'During the overlap (24 hours by default), deliveries are signed with both secrets, so that receivers can be updated one by one. Another rotation during this time is rejected with exit 6; with --force, the oldest secret expires immediately.',
  options: {
    overlap: duration('How long the old secret remains valid; 0 expires it immediately'),
    force: flag('Rotate even during another rotation'),
    reveal: revealFlag,
  },
  operations: ['rotateTeamWebhookSecret'],
  mutates: true,
  destructive: true,
  examples: [
    { command: 'aops webhooks secret rotate --yes', text: 'Rotate with time to update the receivers' },
    { command: 'aops webhooks secret rotate --overlap 0 --force --yes', text: 'Rotate immediately after a leak' },
  ],
  result: returns('rotateTeamWebhookSecret'),
  output: secretOutput,
  async run(context, { overlap, force, reveal }) {
    await confirm(context, 'Replace the signing secret of the team?');
    const client = await context.client();
    const seconds = overlap === undefined ? undefined : Math.ceil((parseDuration(overlap) ?? 0) / 1_000);
    const body = { ...(seconds === undefined ? {} : { overlap_seconds: seconds }), ...(force ? { force } : {}) };
    // The interface defines no body here, so one is sent only if an option needs it.
    const input = { params: { teamId: context.teamId() }, ...(Object.keys(body).length === 0 ? {} : { body }) };
    return displaySecret(context, await client.call('rotateTeamWebhookSecret', input), reveal);
  },
});
