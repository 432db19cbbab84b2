import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { dataDirFlag, findService, type LocalState, reachable } from '../../cli/connect/local-state.ts';
import { openUrl } from '../../cli/desktop/open.ts';
import { pageUrl } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, toggle } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { optionalRunArgument } from '../../cli/names/run-names.ts';
import { ownerClient } from './owner.ts';

/** The page that was opened or is to be opened. */
interface OpenedPage {
  /** Includes the sign-in code, unless a browser was opened. */
  url: string;
  opened: boolean;
  expires_at: string;
}

export default defineCommand({
  summary: 'Open the team page of the local service in a browser',
  description:
    'The page shows runs live and lets you answer their human requests. Works with a service started by `aops local up`, or by `aops serve` on this machine. The browser is signed in with a code that works once, within two minutes. Without a terminal or a browser, and with --no-browser, the URL with the code is printed instead; do not share it.',
  arguments: { run: optionalRunArgument('; shows all runs by default') },
  options: {
    ...dataDirFlag,
    inbox: flag('Show pending human requests'),
    browser: toggle('Open a browser or only print the URL (default: open a browser on a terminal)'),
  },
  operations: ['createPageCode', 'listRuns'],
  examples: [
    { command: 'aops local open', text: 'Show the runs of your team' },
    { command: 'aops local open @latest', text: 'Watch the newest run' },
    { command: 'aops local open --no-browser', text: 'Print the URL' },
  ],
  result: returns({ url: 'url', opened: 'boolean', expires_at: 'date-time' }),
  output: recordOutput<OpenedPage>(({ url, opened, expires_at }) =>
    opened ? { Opened: url } : { URL: url, Valid: 'once', Expires: time(expires_at) },
  ),
  async run(context, input): Promise<OpenedPage> {
    if (input.inbox && input.run !== undefined) throw new UsageError('A run and --inbox cannot be combined.');
    const state = await requireService(context, input.dataDir);
    const { view, code, expires_at } = await prepare(context, state, input);
    const page = `${state.public_url ?? reachable(state.url)}/`;
    const url = pageUrl(page, view, code);
    const wantsBrowser = input.browser ?? (context.terminal.out.isTTY && context.format === 'table');
    const isOpened = wantsBrowser && (await openUrl(context, url));
    if (wantsBrowser && !isOpened) context.terminal.note('No browser could be opened. Open this URL in a browser on this machine:');
    return { url: isOpened ? `${page}#${view}` : url, opened: isOpened, expires_at };
  },
});

async function requireService(context: Context, dataDir: string | undefined): Promise<LocalState> {
  const service = await findService(context, dataDir);
  if (service !== undefined) return service.state;
  throw new AopsError('The local service is not running.', {
    code: 'local_service_not_running',
    exit: exitCodes.unavailable,
    hint: 'Start it with `aops local up`. If `aops serve` runs on another data directory, specify it with --data-dir.',
  });
}

/** The first view of the page and a sign-in code. Both are requested as the owner, whichever profile is selected. */
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
