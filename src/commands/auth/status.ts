import { requireCredential } from '../../config/resolve.ts';
import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';

interface AuthStatus {
  profile: string | null;
  base_url: string | null;
  team_id: string | null;
  team: string;
  credential: { type: string; source: string; masked: string };
}

export default defineCommand({
  summary: 'Say who you are signed in as, and where the credential comes from',
  description: 'Asks the service whether it accepts the credential: exit 4 when not.',
  operations: ['getTeam'],
  examples: [{ command: 'aops auth status', text: 'Before something important' }],
  output: recordOutput<AuthStatus>((status) => ({
    Service: status.base_url,
    Profile: status.profile,
    Team: `${status.team} (${status.team_id})`,
    Credential: `${status.credential.masked} from ${status.credential.source}`,
  })),
  async run(context): Promise<AuthStatus> {
    const config = context.config();
    const { type } = requireCredential(config);
    const client = await context.client();
    const { team } = await client.call('getTeam', { params: { teamId: context.teamId() } });
    return {
      profile: config.profile.value ?? null,
      base_url: config.base_url.value ?? null,
      team_id: team.id,
      team: team.name,
      credential: { type, source: config.credential.name, masked: config.credential.masked ?? '' },
    };
  },
});
