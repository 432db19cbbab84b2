/** The checks of `aops doctor` that need the service: latency, access, clock, rate limit, and interface. */
import { steadyTime } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { interfaceVersion } from '../../base/version.ts';
import { connect } from '../../cli/connect/connection.ts';
import type { Context } from '../../cli/kit/context.ts';
import { checkAnswer } from '../../client/answers.ts';
import type { Client } from '../../client/client.ts';
import { operationRequest } from '../../client/request.ts';
import { readJson } from '../../client/response.ts';
import { RetryBudget } from '../../client/retry-budget.ts';
import { type Check, failedCheck, ok, skip, warn } from './check.ts';

/** With a larger difference, signatures, tokens and limits begin to fail; milliseconds. */
const skewLimit = 30_000;
const slowMilliseconds = 2_000;

const serviceIds = ['service', 'access', 'clock', 'rate limit', 'interface'] as const;

export const skippedServiceChecks = (): Check[] => serviceIds.map((id) => skip(id, 'not checked'));

export async function serviceChecks(context: Context): Promise<Check[]> {
  let client: Client | undefined;
  try {
    // A diagnosis reports failures instead of retrying.
    client = await connect({ ...context, retryBudget: new RetryBudget({ neverRetries: true }) });
    const request = operationRequest('getTeam', { params: { teamId: context.teamId() } });
    const sent = steadyTime(context.clock);
    const response = await client.send(request);
    const milliseconds = steadyTime(context.clock) - sent;
    const { method, path } = request;
    const { team } = checkAnswer('getTeam', readJson(response), { status: response.status, method, path });
    const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
    return [
      latencyCheck(milliseconds),
      ok('access', `team ${team.name}`),
      clockCheck(context, header('date'), milliseconds),
      limitCheck(header('ratelimit-remaining'), header('ratelimit-limit')),
      await interfaceCheck(client),
    ];
  } catch (error) {
    return refusedChecks(error);
  } finally {
    await client?.close();
  }
}

/** The checks after a failed request. An error response still shows that the service is reachable. */
function refusedChecks(error: unknown): Check[] {
  const hasAnswered = error instanceof AopsError && error.details.status !== undefined && error.exit !== exitCodes.unavailable;
  const [first, second] = hasAnswered
    ? [ok('service', 'responds'), failedCheck('access', error)]
    : [failedCheck('service', error), skip('access', 'not checked')];
  return [first, second, ...serviceIds.slice(2).map((id) => skip(id, 'not checked'))];
}

function latencyCheck(milliseconds: number): Check {
  const detail = `responds in ${formatDuration(milliseconds)}, including the connection`;
  return milliseconds > slowMilliseconds
    ? warn('service', detail, 'Check the network, for example a proxy or a VPN.')
    : ok('service', detail);
}

/** `Date` is in whole seconds and was set at some time between sending and receiving. */
function clockCheck({ clock }: Context, date: string | undefined, milliseconds: number): Check {
  const serviceTime = Date.parse(date ?? '');
  if (Number.isNaN(serviceTime)) return skip('clock', 'the service does not report its time');
  const difference = Math.round((serviceTime + 500 - (clock.now() - milliseconds / 2)) / 1_000);
  if (Math.abs(difference) * 1_000 <= skewLimit)
    return ok('clock', Math.abs(difference) <= 1 ? 'agrees with the service' : `${Math.abs(difference)}s apart`);
  const apart = formatDuration(Math.abs(difference) * 1_000);
  return warn(
    'clock',
    `${apart} ${difference > 0 ? 'behind' : 'ahead of'} the service`,
    'Set the clock of this machine; tokens and signatures depend on it.',
  );
}

function limitCheck(remaining: string | undefined, limit: string | undefined): Check {
  if (remaining === undefined) return skip('rate limit', 'the service does not report one');
  const detail = `${remaining} of ${limit ?? '?'} requests remaining`;
  return Number(remaining) > 0 ? ok('rate limit', detail) : warn('rate limit', detail, 'Requests are delayed until the window ends.');
}

async function interfaceCheck(client: Client): Promise<Check> {
  try {
    const response = await client.send({ method: 'GET', path: '/v2/openapi.json', headers: {}, mutates: false });
    const { value } = readJson(response) as { value?: { info?: { version?: string } } | null };
    const version = value?.info?.version;
    if (version === interfaceVersion) return ok('interface', version);
    return warn(
      'interface',
      `${version ?? 'unknown'}; this version of aops supports ${interfaceVersion}`,
      'New features might not be available. Check for an update of aops.',
    );
  } catch (error) {
    if (error instanceof AopsError) return skip('interface', 'the service does not publish its interface');
    throw error;
  }
}
