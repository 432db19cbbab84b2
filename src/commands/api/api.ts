import { UsageError } from '../../base/errors.ts';
import { bodyFlags } from '../../cli/input/body.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type CommandInput, flag, optionalArgument, text, texts } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, rawOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { ServiceRequest } from '../../client/request.ts';
import { operationIds, operations } from '../../interface/operations.ts';
import type { MediaOperationId } from '../../interface/types.ts';
import { buildRequest } from './request.ts';
import { mediaAt } from './target.ts';

const methodsAndPath = {
  methodOrPath: optionalArgument('The method, the path, or the ID of an operation'),
  path: optionalArgument('The path, if the method comes first'),
} as const;

const options = {
  method: text('METHOD', 'HTTP method; the same as the word before the path', { short: 'X' }),
  ...bodyFlags,
  header: texts('NAME: VALUE', 'Send this header', { short: 'H' }),
  paginate: flag('Read all pages of a list and merge them'),
  slurp: flag('With --paginate: print an array of the original pages'),
  include: flag('Also print the status and headers of the response', { short: 'i' }),
  silent: flag('Do not print the body of the response'),
  list: flag('List the operations of the interface, or those that contain a word'),
  curl: flag('Print the request as a curl command without the credential, and send nothing'),
} as const;

const listing = listOutput<{ id: string; method: string; path: string; summary: string }>({
  columns: [
    column('METHOD', (row) => row.method),
    column('PATH', (row) => row.path, { shrink: true }),
    column('OPERATION', (row) => row.id, { shrink: true }),
    column('SUMMARY', (row) => row.summary, { shrink: true }),
  ],
  empty: 'No operations contain that word.',
});

export default defineCommand({
  summary: 'Send an authenticated request to the service',
  description: `The prefix /v2 of PATH is optional. In PATH, {team} is replaced with the ID of the team, and any other placeholder with the field of the same name. The ID of an operation can be used instead of its method and path. The default method is GET, or POST if there are fields or a body. Fields are sent as the body; with GET or --input, they are sent as the query. Changes are sent with an idempotency key.`,
  arguments: methodsAndPath,
  options,
  mutates: true,
  operations: operationIds,
  examples: [
    { command: 'aops api GET teams/{team}/runs -f status=waiting', text: 'List waiting runs' },
    { command: 'aops api getRun -f run_id=RUN', text: 'Call an operation by its ID' },
    { command: 'aops api POST runs/RUN/messages -f message=hello', text: 'Send a message' },
    { command: "aops api listRuns --paginate --jq '.data | length'", text: 'Read all pages and filter the merged result' },
    { command: 'aops api startRun -f agent_id=AGENT --curl', text: 'Print a request as a curl command' },
    { command: 'aops api --list runs', text: 'List operations for runs' },
  ],
  result: returns({ id: 'string', method: 'string', path: 'string', summary: 'string' }),
  output: rawOutput(listing),
  async run(context, input) {
    if (input.list) return matchingOperations(input.methodOrPath);
    if (input.slurp && !input.paginate) throw new UsageError('--slurp requires --paginate.');
    if (input.include && input.paginate) throw new UsageError('--include and --paginate cannot be combined.');
    const request = await buildRequest(context, input);
    if (input.curl) return printCurl(context, request, input);
    const { paginate, slurp, silent, include } = input;
    const media = mediaAt(request);
    if (media && !include && !paginate && !silent) return printMedia(context, request, media);
    const result = paginate ? await allPages(context, request, slurp) : await answer(context, request, include);
    return silent ? undefined : result;
  },
});

function matchingOperations(word: string | undefined) {
  const searchedText = word?.toLowerCase() ?? '';
  const rows = operationIds.map((id) => ({
    id,
    method: operations[id].method,
    path: operations[id].path,
    summary: operations[id].summary,
  }));
  return wholeList(rows.filter((row) => Object.values(row).some((text) => text.toLowerCase().includes(searchedText))));
}

/** Prints the body of an operation whose response is not JSON. */
async function printMedia(context: Context, { path }: ServiceRequest, id: MediaOperationId): Promise<undefined> {
  const [{ mediaBody }, { printContent }] = await Promise.all([
    import('../../client/transfers/media.ts'),
    import('../../cli/kit/files.ts'),
  ]);
  const type = operations[id].produces;
  await printContent(context, mediaBody(await context.client(), path, type, context.signal), type.startsWith('text/'));
}

async function answer(context: Context, request: ServiceRequest, include: boolean): Promise<unknown> {
  const response = await (await context.client()).send(request);
  if (include) {
    await context.terminal.line(`HTTP ${response.status}`);
    for (const [name, value] of Object.entries(response.headers)) await context.terminal.line(`${name}: ${String(value)}`);
    await context.terminal.line('');
  }
  return response.body.length === 0 ? undefined : (JSON.parse(response.body.toString('utf8')) as unknown);
}

async function allPages(context: Context, request: ServiceRequest, slurp: boolean): Promise<unknown> {
  if (request.method !== 'GET') throw new UsageError('--paginate works only with GET.', 'Specify the method: -X GET.');
  const { mergePages, readPages } = await import('./pages.ts');
  const url = new URL(request.path, 'http://service');
  const pages = await readPages(
    (place) => {
      for (const [name, value] of Object.entries(place ?? {})) url.searchParams.set(name, String(value));
      return answer(context, { ...request, path: url.pathname + url.search }, false);
    },
    Number(url.searchParams.get('offset') ?? 0),
  );
  return slurp ? pages : mergePages(pages);
}

type Input = CommandInput<typeof methodsAndPath, typeof options>;

async function printCurl(context: Context, request: ServiceRequest, { input }: Input): Promise<undefined> {
  const [{ curlCommand }, { requireBaseUrl }, { newIdempotencyKey }] = await Promise.all([
    import('./curl.ts'),
    import('../../config/resolve.ts'),
    import('../../client/idempotency.ts'),
  ]);
  const key = request.mutates ? (context.flags.idempotencyKey ?? newIdempotencyKey()) : undefined;
  const config = context.config();
  const files = { cacert: config.ca_file.value, cert: config.client_cert.value, key: config.client_key.value };
  await context.terminal.line(curlCommand(requireBaseUrl(config), request, { key, bodyFile: input, files }));
  if (!context.env.AOPS_API_KEY) context.terminal.advise('To run it, set the variable first: export AOPS_API_KEY=$(aops auth token)');
}
