import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { dataDirFlag, findService, type LocalState, reachable } from '../../cli/connect/local-state.ts';
import { openUrl } from '../../cli/desktop/open.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, toggle } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { optionalRunArgument } from '../../cli/names/run-names.ts';
import { ownerClient } from './owner.ts';

/** The page as it was opened, or as it is to be opened. */
interface OpenedPage {
  /** With the code that signs in, unless a browser has it already. */
  url: string;
  opened: boolean;
  expires_at: string;
}

export default defineCommand({
  summary: 'Open the team page of the local service in your browser',
  description:
    'The page shows runs as they go, and answers what they ask. It finds the service of `aops local up`, and one that `aops serve` runs on this machine. The browser is signed in by a code that works once and for two minutes. Off a terminal, without a browser, and with --no-browser the URL with the code is printed instead: open it in time, and give it to nobody else.',
  arguments: { run: optionalRunArgument(' to show; without one, all runs') },
  options: {
    ...dataDirFlag,
    inbox: flag('Show what waits for an answer'),
    browser: toggle('Open a browser, or only print the URL (default: a browser on a terminal)'),
  },
  operations: ['createPageCode', 'listRuns'],
  examples: [
    { command: 'aops local open', text: 'The runs of your team' },
    { command: 'aops local open @latest', text: 'The newest run, live' },
    { command: 'aops local open --no-browser', text: 'A URL to open yourself' },
  ],
  result: returns({ url: 'url', opened: 'boolean', expires_at: 'date-time' }),
  output: recordOutput<OpenedPage>(({ url, opened, expires_at }) =>
    opened ? { Opened: url } : { URL: url, Works: 'once', Until: time(expires_at) },
  ),
  async run(context, input): Promise<OpenedPage> {
    if (input.inbox && input.run !== undefined) throw new UsageError('A run and --inbox exclude each other.');
    const state = await requireService(context, input.dataDir);
    const { view, code, expires_at } = await prepare(context, state, input);
    const page = `${state.public_url ?? reachable(state.url)}/`;
    const url = `${page}#code=${code}&view=${view}`;
    const isWanted = input.browser ?? (context.terminal.out.isTTY && context.format === 'table');
    const opened = isWanted && (await openUrl(context, url));
    if (isWanted && !opened) context.terminal.note('No browser could be opened here. Open this URL in one on this machine:');
    return { url: opened ? `${page}#${view}` : url, opened, expires_at };
  },
});

async function requireService(context: Context, dataDir: string | undefined): Promise<LocalState> {
  const found = await findService(context, dataDir);
  if (found !== undefined) return found.state;
  throw new AopsError('The local service is not running.', {
    code: 'local_service_not_running',
    exit: exitCodes.unavailable,
    hint: 'Start it with `aops local up`; one that `aops serve` runs on another data directory is found with --data-dir.',
  });
}

/** Where the page is to begin, and a code for it. Both are asked for as the owner, whichever profile is selected. */
async function prepare(context: Context, state: LocalState, { run, inbox }: { run: string | undefined; inbox: boolean }) {
  const { team_id } = state;
  const client = await ownerClient(context, state);
  try {
    const asOwner = { ...context, client: async () => client, teamId: () => team_id };
    const view = run === undefined ? (inbox ? '/inbox' : '/') : `/runs/${await runId(asOwner, run)}`;
    return { view, ...(await client.call('createPageCode', {})) };
  } finally {
    await client.close();
  }
}
