/** Every migration, in order. Each is applied once and never edited after a release. */
import type { Migration } from 'kysely';
import { core } from './0001-core.ts';
import { webhooks } from './0002-webhooks.ts';
import { plan } from './0003-plan.ts';
import { browser } from './0004-browser.ts';
import { builderRuns } from './0005-builder-runs.ts';
import { access } from './0006-access.ts';
import { queues } from './0010-queues.ts';
import { agentsMore } from './0011-agents-more.ts';
import { artifacts } from './0012-artifacts.ts';
import { connections } from './0013-connections.ts';
import { operations } from './0014-operations.ts';
import { missingConnections } from './0016-missing-connections.ts';
import { lists } from './0017-lists.ts';
import { caseLine } from './0018-case-line.ts';
import { requestEvents } from './0019-request-events.ts';
import { answeredKeys } from './0020-answered-keys.ts';
import { repositories } from './0021-repositories.ts';
import { execLevel } from './0024-exec-level.ts';
import { agentProcesses } from './0026-agent-processes.ts';
import { push } from './0027-push.ts';
import { responders } from './0028-responders.ts';
import { webhookFormats } from './0029-webhook-formats.ts';
import { reminders } from './0030-reminders.ts';
import { runSearch } from './0031-run-search.ts';
import { unreferencedFiles } from './0032-unreferenced-files.ts';
import { webhookExpiry } from './0033-webhook-expiry.ts';
import { nodes } from './0034-nodes.ts';
import { workspaces } from './0035-workspaces.ts';
import { runIssues } from './0038-run-issues.ts';
import { unreadMessages } from './0040-unread-messages.ts';

export const migrations: Record<string, Migration> = {
  '0001-core': core,
  '0002-webhooks': webhooks,
  '0003-plan': plan,
  '0004-browser': browser,
  '0005-builder-runs': builderRuns,
  '0006-access': access,
  '0010-queues': queues,
  '0011-agents-more': agentsMore,
  '0012-artifacts': artifacts,
  '0013-connections': connections,
  '0014-operations': operations,
  '0016-missing-connections': missingConnections,
  '0017-lists': lists,
  '0018-case-line': caseLine,
  '0019-request-events': requestEvents,
  '0020-answered-keys': answeredKeys,
  '0021-repositories': repositories,
  '0024-exec-level': execLevel,
  '0026-agent-processes': agentProcesses,
  '0027-push': push,
  '0028-responders': responders,
  '0029-webhook-formats': webhookFormats,
  '0030-reminders': reminders,
  '0031-run-search': runSearch,
  '0032-unreferenced-files': unreferencedFiles,
  '0033-webhook-expiry': webhookExpiry,
  '0034-nodes': nodes,
  '0035-workspaces': workspaces,
  '0038-run-issues': runIssues,
  '0040-unread-messages': unreadMessages,
};

/**
 * Migrations that older processes cannot work with, and the oldest schema that a process must know for each of them. The value is the
 * newest migration of the oldest version that no longer uses what the migration removes. See compatibility.ts.
 */
export const oldestReaders: Readonly<Record<string, string>> = {};
