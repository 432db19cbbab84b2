/**
 * The tables that an export contains: everything that one database has to know of another one. A test checks that every table is either
 * here or left out.
 */

/** In an order in which each row refers to rows of the same or of earlier tables only. */
export const exportedTables = [
  'settings',
  'teams',
  'plans',
  'credentials',
  'tokens',
  // Requests that are repeated after the move must not be executed again.
  'idempotency_keys',
  'agents',
  'agent_secrets',
  'builds',
  'procedures',
  'schedules',
  'memory_files',
  'rubrics',
  'builder_runs',
  'sandboxes',
  'sandbox_repositories',
  'runs',
  'removed_runs',
  'run_totals',
  'messages',
  'journal',
  'human_requests',
  'request_events',
  'run_files',
  'tool_executions',
  'agent_sessions',
  'evaluations',
  'queues',
  'cases',
  'case_events',
  'queue_labels',
  'case_labels',
  'case_triggers',
  'artifacts',
  'artifact_revisions',
  'artifact_messages',
  'artifact_connections',
  'connections',
  'oauth_flows',
  'run_connections',
  'webhook_secrets',
  'webhook_subscriptions',
  'events',
  'deliveries',
  'delivery_attempts',
  'push_subscriptions',
  'push_messages',
  // A job that a process was working on is taken over in the other database as after a crash.
  'jobs',
] as const;

/** What each database has for itself, and why. */
export const omittedTables: Readonly<Record<string, string>> = {
  kysely_migration: 'records which migrations were applied',
  kysely_migration_lock: 'the lock of migrations',
  import_progress: 'how far an import has come',
  run_search: 'an index, which is built again',
  run_search_terms: 'what that index contains',
  nodes: 'the processes that use the database',
  rate_windows: 'how many requests were made in this minute',
  unreferenced_files: 'files that are removed with the old database',
  workspace_files: 'where the files of sandboxes are stored; exports contain the files',
  files: 'the content of files',
  file_chunks: 'the content of files',
};

/** Columns of exported tables that each database has for itself, and why. They have defaults. */
export const ownColumns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  runs: {
    issues: 'copied from the evaluation by the database',
    critical_issues: 'likewise',
    medium_issues: 'likewise',
    low_issues: 'likewise',
  },
  sandboxes: { holder: 'the node that has the files', version: 'how often the record of the files has changed' },
};

/** Settings that describe the database itself. */
export const ownSettings = {
  /** Recognises the key for secrets (shared-secrets.ts). */
  keyCheck: 'secret_key_check',
  /** The oldest schema that a version must know (migrations/compatibility.ts). */
  oldestReader: 'schema_min',
  /** Names an export, as long as nothing has used the database since (export-mark.ts). */
  exportMark: 'export_mark',
} as const;
