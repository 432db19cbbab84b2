import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';

interface ListedProfile {
  id: string;
  name: string;
  base_url: string;
  team_id: string | null;
  signed_in: boolean;
  current: boolean;
}

export default defineCommand({
  summary: 'List profiles',
  examples: [{ command: 'aops profiles list', text: 'List profiles; an asterisk marks the current one' }],
  result: returns({ id: 'string', name: 'string', base_url: 'url', team_id: 'uuid|null', signed_in: 'boolean', current: 'boolean' }),
  output: listOutput<ListedProfile>({
    columns: [
      column('CURRENT', (profile) => (profile.current ? '*' : '')),
      column('NAME', (profile) => profile.name),
      column('SERVICE', (profile) => profile.base_url, { shrink: true }),
      column('TEAM', (profile) => profile.team_id, { shrink: true }),
      column('SIGNED IN', (profile) => (profile.signed_in ? 'yes' : 'no')),
    ],
    empty: 'There are no profiles. Sign in with `aops auth login`, or start a local service with `aops local up`.',
  }),
  async run(context) {
    const { store } = context;
    return wholeList(
      store.profiles().map(({ name, base_url, team_id, current }) => ({
        id: name,
        name,
        base_url,
        team_id: team_id ?? null,
        signed_in: store.credential(name) !== undefined,
        current,
      })),
    );
  },
});
