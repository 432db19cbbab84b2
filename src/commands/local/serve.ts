import { once } from 'node:events';
import path from 'node:path';
import { parseDuration } from '../../base/duration.ts';
import { exitCodes } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import {
  defaultDataDirectory,
  type LocalState,
  logFile,
  removeState,
  serviceFile,
  tokenFile,
  writeState,
} from '../../cli/connect/local-state.ts';
import { agentHosts, execOptions } from '../../cli/input/exec-options.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import type { Service } from '../../service/service.ts';
import { agentProcessOptions, agentProcessSettings, agentProcessState } from './agent-flags.ts';
import { browsingOptions, namedChromium } from './browsing.ts';
import { firstCertificate, reloadTls } from './certificate.ts';
import { connectionOptions, connectionSettings } from './connection-flags.ts';
import { nodeOptions, nodeSettings } from './database-flags.ts';
import { execState } from './exec-flags.ts';
import { listeningOptions, listeningSettings } from './listening.ts';
import { boundedLog } from './log-file.ts';
import { planOptions, readPlans } from './plans.ts';
import { retentionOptions, retentionSettings, retentionState } from './retention.ts';
import { logOptions, serviceLog } from './service-log.ts';
import { webhookOptions, webhookSettings } from './webhook-flags.ts';

/** The level of commands in the message for people. */
const commandsInWords = { contained: 'are contained', host: 'run as you', off: 'are off' } as const;

/** Where the token of the owner is; a node has none, because the owner uses the database. */
function accessOf({ node }: Service, dataDirectory: string): { access: string; fields: Record<string, string> } {
  if (node !== undefined)
    return { access: `node ${node.name} of the database ${node.database}`, fields: { node: node.name, database: node.database } };
  const token_file = tokenFile(dataDirectory);
  return { access: `token in ${token_file}`, fields: { token_file } };
}

/** Time for remaining work after the service has stopped; milliseconds. */
const exitMilliseconds = 500;

export default defineCommand({
  summary: 'Run the service in the foreground, as on a server',
  description:
    'Data is stored in the data directory, which one process owns, or in a Postgres database (--database-url), which several nodes share: they continue the runs of one that ends. Runs cannot execute commands unless you pass --exec: with contained (or auto, if this machine can), commands see only the system and the files of their run; with host, they run as you, without isolation. Ctrl-C or SIGTERM stops the service; its runs continue at the next start.',
  options: {
    ...listeningOptions,
    ...nodeOptions,
    dataDir: text('DIR', 'Data directory', { complete: 'directories' }),
    ...execOptions('off'),
    ...planOptions,
    ...retentionOptions,
    ...agentProcessOptions,
    ...browsingOptions('off'),
    ...webhookOptions,
    ...connectionOptions,
    ...logOptions,
    stateFile: text('FILE', 'Write the state of the service to this file', { hidden: true }),
    ephemeral: text('yes|no', 'Record in the state that the data is temporary', { hidden: true }),
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops serve --port 4010', text: 'Run a service on this machine with a fixed port' },
    { command: 'aops serve --data-dir ./data --exec contained', text: 'Allow runs to execute commands, confined to their files' },
    { command: 'aops serve --plan plan.yaml', text: 'Set the plan of the team' },
    { command: 'aops serve --allow-webhook-host hooks.example.com', text: 'Allow webhooks to another host' },
    { command: 'aops serve --host 0.0.0.0 --port 443 --tls-cert chain.pem --tls-key key.pem', text: 'Serve other machines on the network' },
    { command: 'aops serve --port 4010 --public-url https://agents.example.com', text: 'Run behind a TLS proxy' },
    {
      command: 'aops serve --database-url "postgres://aops@db.example.com/aops?sslmode=verify-full" --secret-key-file secrets.key',
      text: 'Run a node on a database that several nodes share',
    },
    { command: 'aops serve --browse public', text: 'Allow runs to browse the internet, but not the local network' },
  ],
  async run(context, input) {
    const dataDirectory = input.dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, input.dataDir);
    const { startService } = await import('../../service/service.ts');
    const exec = input.exec ?? 'off';
    const browse = input.browse ?? 'off';
    const chromium = await namedChromium(context, input.chromium);
    const node = await nodeSettings(context, input);
    const log = serviceLog(context.terminal, input.logFormat, boundedLog(logFile(dataDirectory)));
    const listening = await listeningSettings(context, input);
    const service = await startService({
      dataDirectory,
      exec,
      ...node,
      node: context.launcher.executable,
      nodeVersion: context.launcher.nodeVersion,
      agents: { allow: agentHosts(input) },
      webhooks: webhookSettings(input),
      connections: connectionSettings(input),
      browsing: { policy: browse, ...(chromium === undefined ? {} : { executable: chromium }) },
      ...(context.env.PATH === undefined ? {} : { commandPath: context.env.PATH }),
      ...(await readPlans(context, input.plan)),
      ...retentionSettings(input),
      ...agentProcessSettings(input),
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
    // The state is written to the data directory, for processes that find it in use, and to the place where `local` looks for it. That
    // one is written last: `local up` takes it as a successful start, and `local down` takes its absence as the end.
    const stateFiles = [serviceFile(dataDirectory), ...(input.stateFile === undefined ? [] : [input.stateFile])];
    const writeStates = async (state: LocalState): Promise<void> => {
      const { stateFile } = input;
      await writeState(serviceFile(dataDirectory), stateFile === undefined ? state : { ...state, state_file: stateFile });
      if (stateFile !== undefined) await writeState(stateFile, state);
    };
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
        ...execState(service, exec, input),
        browse,
        webhook_hosts: input.allowWebhookHost,
        connection_hosts: input.allowConnectionHost,
        ...retentionState(input),
        ...agentProcessState(service, input),
        ...(input.publicUrl === undefined ? {} : { public_url: input.publicUrl }),
        ...(service.node === undefined ? {} : { node: service.node.name, database: service.node.database }),
        ephemeral,
        ...(listening.tls === undefined ? {} : { certificate: firstCertificate(listening.tls.cert) }),
        started_at,
      };
      await writeStates(state);
      const { access, fields } = accessOf(service, dataDirectory);
      const message = `Listening on ${url}; team ${teamId}; ${access}; commands ${commandsInWords[service.exec]}`;
      // Programs read this message from the log.
      const forPrograms = context.format !== 'table';
      context.terminal.note(
        forPrograms ? JSON.stringify({ event: 'listening', url, team_id: teamId, ...fields, exec: service.exec, message }) : message,
      );
      if (service.shortfall !== undefined && !forPrograms)
        context.terminal.note(`Runs cannot execute commands: ${service.shortfall.missing}. ${service.shortfall.remedy}`);
      const reload = async (): Promise<void> => {
        const cert = await reloadTls(context, service, input);
        if (cert !== undefined) await writeStates({ ...state, certificate: firstCertificate(cert) });
      };
      const ignore = input.tlsCert === undefined ? undefined : context.launcher.onHangup(() => void reload());
      if (!context.signal.aborted) await once(context.signal, 'abort');
      ignore?.();
    } finally {
      await service.close();
      log.flush();
      for (const file of stateFiles) await removeState(file, instanceId);
      // For example, a browser that hangs while starting would delay the exit by a minute.
      context.launcher.endWithin(exitMilliseconds);
    }
  },
});
