import { once } from 'node:events';
import path from 'node:path';
import { parseDuration } from '../base/duration.ts';
import { exitCodes } from '../base/errors.ts';
import { version } from '../base/version.ts';
import type { LogEntry } from '../service/service.ts';
import { choice, defineCommand, duration, integer, text } from './define.ts';
import { browsingOptions, namedChromium } from './local/browsing.ts';
import { connectionOptions, connectionSettings } from './local/connection-flags.ts';
import { planOptions, readPlans } from './local/plans.ts';
import { defaultDataDirectory, removeState, serviceFile, tokenFile, writeState } from './local/state.ts';
import { webhookOptions, webhookSettings } from './local/webhook-flags.ts';

export default defineCommand({
  summary: 'Run the service in the foreground, for a server',
  description:
    "Data is kept in the data directory; one process owns it. Commands of runs are not executed unless --exec host is given: they then run as you, in the run's directory, without containment. Ctrl-C or SIGTERM ends the service; its runs go on at the next start.",
  options: {
    host: text('ADDRESS', 'Listen on this address (default 127.0.0.1)'),
    port: integer('N', 'Listen on this port (default: a free one)', { minimum: 0, maximum: 65_535 }),
    dataDir: text('DIR', 'Keep the data here', { complete: 'directories' }),
    exec: choice(['host', 'off'], 'Whether runs may execute commands (default off)'),
    ...planOptions,
    keepSandboxes: duration('Remove the files of runs that ended so long ago (default: keep them)'),
    ...browsingOptions('off'),
    ...webhookOptions,
    ...connectionOptions,
    rateLimit: text('N', 'Requests a minute for each credential', { hidden: true }),
    stateFile: text('FILE', 'Write the state of the service here', { hidden: true }),
    ephemeral: text('yes|no', 'Note in the state that the data is not kept', { hidden: true }),
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops serve --port 4010', text: 'A service on this machine, on a fixed port' },
    { command: 'aops serve --data-dir ./data --exec host', text: 'Let runs execute commands' },
    { command: 'aops serve --plan plan.yaml', text: 'Limit what the team may use' },
    { command: 'aops serve --allow-webhook-host hooks.example.com', text: 'Let webhooks leave this machine' },
    { command: 'aops serve --browse public', text: 'Let runs browse the internet, and nothing of this network' },
  ],
  async run(context, input) {
    const dataDirectory = input.dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, input.dataDir);
    const { startService } = await import('../service/service.ts');
    const exec = input.exec ?? 'off';
    const browse = input.browse ?? 'off';
    const chromium = await namedChromium(context, input.chromium);
    const service = await startService({
      dataDirectory,
      exec,
      webhooks: webhookSettings(input),
      connections: connectionSettings(input),
      browsing: { policy: browse, ...(chromium === undefined ? {} : { executable: chromium }) },
      ...(context.env.PATH === undefined ? {} : { commandPath: context.env.PATH }),
      ...(await readPlans(context, input.plan)),
      ...(input.keepSandboxes === undefined ? {} : { sandboxRetention: parseDuration(input.keepSandboxes) as number }),
      ...(input.host === undefined ? {} : { host: input.host }),
      ...(input.port === undefined ? {} : { port: input.port }),
      ...(input.rateLimit === undefined ? {} : { rateLimit: { limit: Number(input.rateLimit), windowSeconds: 60 } }),
      log: (entry) => context.terminal.note(context.terminal.err.isTTY ? logLine(entry) : JSON.stringify(entry)),
    });
    const { url, teamId, instanceId } = service;
    // In the data directory for whoever finds it in use, and where `local` looks.
    const stateFiles = [...(input.stateFile === undefined ? [] : [input.stateFile]), serviceFile(dataDirectory)];
    try {
      const started_at = new Date(context.clock.now()).toISOString();
      const ephemeral = input.ephemeral === 'yes';
      const state = {
        pid: context.launcher.pid,
        url,
        data_dir: dataDirectory,
        team_id: teamId,
        version,
        instance_id: instanceId,
        exec,
        browse,
        webhook_hosts: input.allowWebhookHost,
        connection_hosts: input.allowConnectionHost,
        ephemeral,
        started_at,
      };
      for (const file of stateFiles) await writeState(file, state);
      context.terminal.note(
        `Listening on ${url}; team ${teamId}; token in ${tokenFile(dataDirectory)}; commands ${exec === 'host' ? 'run as you' : 'are off'}`,
      );
      if (!context.signal.aborted) await once(context.signal, 'abort');
    } finally {
      await service.close();
      for (const file of stateFiles.reverse()) await removeState(file, instanceId);
    }
  },
});

/** A log entry for the one who looks at it: time, what happened, and the facts. */
function logLine({ time, level, message, fields }: LogEntry): string {
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  return [time.slice(11, 19), level === 'info' ? '' : level, message, ...shown].filter((part) => part !== '').join(' ');
}
