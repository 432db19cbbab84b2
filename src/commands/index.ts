/** Every command, by group. Loaded at every start, so it contains only names and summaries; definitions are loaded when needed. */

import type { Group } from '../cli/kit/command.ts';
import type { Leaf } from '../cli/kit/tree.ts';
import { agents } from './agents/index.ts';
import { alias } from './alias/index.ts';
import { artifacts } from './artifacts/index.ts';
import { auth } from './auth/index.ts';
import { billing } from './billing/index.ts';
import { cases } from './cases/index.ts';
import { config } from './config/index.ts';
import { connections } from './connections/index.ts';
import { extensions } from './extensions/index.ts';
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

/** The entries of the first level by section, in the order of the help. */
const sections: Readonly<Record<string, Readonly<Record<string, Group | Leaf>>>> = {
  Runs: {
    runs,
    inbox: { summary: 'List and answer pending human requests', load: () => import('./inbox/inbox.ts') },
    sandbox,
  },
  Agents: { agents, revisions, plugins },
  'Queues and cases': { queues, cases },
  'Team and integrations': { teams, billing, artifacts, connections, webhooks, mcp },
  'Your own service': {
    local,
    serve: { summary: 'Run the service in the foreground, as on a server', load: () => import('./local/serve.ts') },
  },
  'Setup and troubleshooting': {
    auth,
    profiles,
    config,
    doctor: { summary: 'Check your setup and explain how to fix problems', load: () => import('./doctor/doctor.ts') },
    retry: { summary: 'Settle changes whose outcome is unknown, or list them', load: () => import('./changes/retry.ts') },
    api: { summary: 'Send an authenticated request to the service', load: () => import('./api/api.ts') },
  },
  Scripting: {
    alias,
    extensions,
    commands: { summary: 'Describe every command for programs', load: () => import('./about/commands.ts') },
    completion: { summary: 'Print a shell completion script', load: () => import('./completion/completion.ts') },
    __complete: { summary: 'Complete a command line', load: () => import('./completion/complete.ts'), hidden: true },
    __refresh: { summary: 'Update the cached words for completion', load: () => import('./completion/refresh.ts'), hidden: true },
  },
};

/** All entries on one level, each with the title of its section. */
export const commandTree: Readonly<Record<string, Group | Leaf>> = Object.fromEntries(
  Object.entries(sections).flatMap(([section, entries]) => Object.entries(entries).map(([name, entry]) => [name, { ...entry, section }])),
);
