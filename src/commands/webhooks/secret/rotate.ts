import { parseDuration } from '../../../base/duration.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { duration, flag } from '../../../cli/kit/flags.ts';
import { returns } from '../../../cli/kit/result.ts';
import { revealFlag, secretOutput, shownSecret } from './shown.ts';

export default defineCommand({
  summary: 'Replace the signing secret',
  description:
    'Both secrets sign until the overlap is over (24 h unless the service says otherwise), so receivers can be changed one by one. While they do, another rotation is refused with exit 6; --force ends the older one at once.',
  options: {
    overlap: duration('How long the old secret goes on signing; 0 ends it at once'),
    force: flag('Rotate although a rotation is going on'),
    reveal: revealFlag,
  },
  operations: ['rotateTeamWebhookSecret'],
  mutates: true,
  destructive: true,
  examples: [
    { command: 'aops webhooks secret rotate --yes', text: 'With time to change the receivers' },
    { command: 'aops webhooks secret rotate --overlap 0 --force --yes', text: 'When the old one has leaked' },
  ],
  result: returns('rotateTeamWebhookSecret'),
  output: secretOutput,
  async run(context, { overlap, force, reveal }) {
    await confirm(context, 'Replace the secret that webhooks of the team are signed with?');
    const client = await context.client();
    const seconds = overlap === undefined ? undefined : Math.ceil((parseDuration(overlap) ?? 0) / 1_000);
    const body = { ...(seconds === undefined ? {} : { overlap_seconds: seconds }), ...(force ? { force } : {}) };
    // The interface knows no body here, so none is sent unless something is asked for.
    const input = { params: { teamId: context.teamId() }, ...(Object.keys(body).length === 0 ? {} : { body }) };
    return shownSecret(context, await client.call('rotateTeamWebhookSecret', input), reveal);
  },
});
