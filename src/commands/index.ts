/** Every command, by group. Loaded at each start: names and summaries only, the definitions come when they are needed. */

import type { Group } from '../cli/kit/command.ts';
import type { Leaf } from '../cli/kit/tree.ts';
import { agents } from './agents/index.ts';
import { artifacts } from './artifacts/index.ts';
import { auth } from './auth/index.ts';
import { billing } from './billing/index.ts';
import { cases } from './cases/index.ts';
import { config } from './config/index.ts';
import { connections } from './connections/index.ts';
import { local } from './local/index.ts';
import { mcp } from './mcp/index.ts';
import { plugins } from './plugins/index.ts';
import { profiles } from './profiles/index.ts';
import { queues } from './queues/index.ts';
import { revisions } from './revisions/index.ts';
import { runs } from './runs/index.ts';
import { sandbox } from './sandbox/index.ts';
import { teams } from './teams/index.ts';
import { webhooks } from './webhooks/index.ts';

/** What stands on the first level, in sections, in the order of the help. */
const sections: Readonly<Record<string, Readonly<Record<string, Group | Leaf>>>> = {
  Runs: {
    runs,
    inbox: { summary: 'See what runs ask of people, and answer it', load: () => import('./inbox/inbox.ts') },
    sandbox,
  },
  Agents: { agents, revisions, plugins },
  'Work for agents': { queues, cases },
  'Team and integrations': { teams, billing, artifacts, connections, webhooks, mcp },
  'A service of your own': {
    local,
    serve: { summary: 'Run the service in the foreground, for a server', load: () => import('./local/serve.ts') },
  },
  'You and the service': {
    auth,
    profiles,
    config,
    doctor: { summary: 'Check everything aops needs, and say what to do about it', load: () => import('./doctor/doctor.ts') },
    retry: { summary: 'Settle a change whose outcome is unknown, or list those there are', load: () => import('./changes/retry.ts') },
    api: { summary: 'Send any request to the service, signed in', load: () => import('./api/api.ts') },
  },
  'Shells and programs': {
    commands: { summary: 'Describe every command, for programs', load: () => import('./about/commands.ts') },
    completion: { summary: 'Print the completion script of a shell', load: () => import('./completion/completion.ts') },
    __complete: { summary: 'Complete a command line', load: () => import('./completion/complete.ts'), hidden: true },
    __refresh: { summary: 'Bring the words of completion up to date', load: () => import('./completion/refresh.ts'), hidden: true },
  },
};

/** All of it on one level, each entry with the title of its section. */
export const commandTree: Readonly<Record<string, Group | Leaf>> = Object.fromEntries(
  Object.entries(sections).flatMap(([section, entries]) => Object.entries(entries).map(([name, entry]) => [name, { ...entry, section }])),
);
