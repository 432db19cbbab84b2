import { once } from 'node:events';
import path from 'node:path';
import { parseDuration } from '../../base/duration.ts';
import { exitCodes } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import { defaultDataDirectory, logFile, removeState, serviceFile, tokenFile, writeState } from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, text } from '../../cli/kit/flags.ts';
import { browsingOptions, namedChromium } from './browsing.ts';
import { firstCertificate, reloadTls } from './certificate.ts';
import { connectionOptions, connectionSettings } from './connection-flags.ts';
import { listeningOptions, listeningSettings } from './listening.ts';
import { boundedLog } from './log-file.ts';
import { planOptions, readPlans } from './plans.ts';
import { retentionOptions, retentionSettings, retentionState } from './retention.ts';
import { logOptions, serviceLog } from './service-log.ts';
import { webhookOptions, webhookSettings } from './webhook-flags.ts';

/** Milliseconds for what is still open when the service has ended. */
const lastMoments = 500;

export default defineCommand({
  summary: 'Run the service in the foreground, as on a server',
  description:
    "Data is kept in the data directory; one process owns it. Commands of runs are not executed unless --exec host is given: they then run as you, in the run's directory, without containment. Ctrl-C or SIGTERM ends the service; its runs go on at the next start.",
  options: {
    ...listeningOptions,
    dataDir: text('DIR', 'Keep the data here', { complete: 'directories' }),
    exec: choice(['host', 'off'], 'Whether runs may execute commands (default off)'),
    ...planOptions,
    ...retentionOptions,
    ...browsingOptions('off'),
    ...webhookOptions,
    ...connectionOptions,
    ...logOptions,
    stateFile: text('FILE', 'Write the state of the service here', { hidden: true }),
    ephemeral: text('yes|no', 'Note in the state that the data is not kept', { hidden: true }),
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops serve --port 4010', text: 'A service on this machine, on a fixed port' },
    { command: 'aops serve --data-dir ./data --exec host', text: 'Let runs execute commands' },
    { command: 'aops serve --plan plan.yaml', text: 'Limit what the team may use' },
    { command: 'aops serve --allow-webhook-host hooks.example.com', text: 'Let webhooks leave this machine' },
    { command: 'aops serve --host 0.0.0.0 --port 443 --tls-cert chain.pem --tls-key key.pem', text: 'For others on the network' },
    { command: 'aops serve --port 4010 --public-url https://agents.example.com', text: 'Behind a proxy that speaks TLS' },
    { command: 'aops serve --browse public', text: 'Let runs browse the internet, and nothing of this network' },
  ],
  async run(context, input) {
    const dataDirectory = input.dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, input.dataDir);
    const { startService } = await import('../../service/service.ts');
    const exec = input.exec ?? 'off';
    const browse = input.browse ?? 'off';
    const chromium = await namedChromium(context, input.chromium);
    const log = serviceLog(context.terminal, input.logFormat, boundedLog(logFile(dataDirectory)));
    const listening = await listeningSettings(context, input);
    const service = await startService({
      dataDirectory,
      exec,
      webhooks: webhookSettings(input),
      connections: connectionSettings(input),
      browsing: { policy: browse, ...(chromium === undefined ? {} : { executable: chromium }) },
      ...(context.env.PATH === undefined ? {} : { commandPath: context.env.PATH }),
      ...(await readPlans(context, input.plan)),
      ...retentionSettings(input),
      ...listening,
      drain: {
        ...(input.drainDelay === undefined ? {} : { delay: parseDuration(input.drainDelay) as number }),
        ...(input.drainTimeout === undefined ? {} : { time: parseDuration(input.drainTimeout) as number }),
      },
      usage: () => context.launcher.usage(),
      log: log.write,
      logLevel: input.logLevel ?? 'info',
    });
    const { url, teamId, instanceId } = service;
    // In the data directory for whoever finds it in use, and where `local` looks: that one last, since `local up` takes it for a start
    // that succeeded, and `local down` its absence for an end.
    const stateFiles = [serviceFile(dataDirectory), ...(input.stateFile === undefined ? [] : [input.stateFile])];
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
        ...retentionState(input),
        ...(input.publicUrl === undefined ? {} : { public_url: input.publicUrl }),
        ephemeral,
        ...(listening.tls === undefined ? {} : { certificate: firstCertificate(listening.tls.cert) }),
        started_at,
      };
      for (const file of stateFiles) await writeState(file, state);
      const token_file = tokenFile(dataDirectory);
      const message = `Listening on ${url}; team ${teamId}; token in ${token_file}; commands ${exec === 'host' ? 'run as you' : 'are off'}`;
      // Whoever wants JSON reads this among the lines of the log.
      const forPrograms = context.format !== 'table';
      context.terminal.note(
        forPrograms ? JSON.stringify({ event: 'listening', url, team_id: teamId, token_file, exec, message }) : message,
      );
      const reload = async (): Promise<void> => {
        const cert = await reloadTls(context, service, input);
        if (cert !== undefined) for (const file of stateFiles) await writeState(file, { ...state, certificate: firstCertificate(cert) });
      };
      const ignore = input.tlsCert === undefined ? undefined : context.launcher.onHangup(() => void reload());
      if (!context.signal.aborted) await once(context.signal, 'abort');
      ignore?.();
    } finally {
      await service.close();
      log.flush();
      for (const file of stateFiles) await removeState(file, instanceId);
      // A browser that hangs while it starts, say, is given up by its library after a minute.
      context.launcher.endWithin(lastMoments);
    }
  },
});
