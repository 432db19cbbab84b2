/** What `aops doctor` asks the service: whether it answers, how fast, who it takes us for, what time it has, which interface it speaks. */
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
import { type Check, failed, ok, skip, warn } from './check.ts';

/** Beyond this, what depends on the time (signatures, tokens, limits) begins to fail. Milliseconds. */
const skewLimit = 30_000;
const slowAnswer = 2_000;

const serviceIds = ['service', 'access', 'clock', 'rate limit', 'interface'] as const;

export const skippedServiceChecks = (): Check[] => serviceIds.map((id) => skip(id, 'not asked'));

export async function serviceChecks(context: Context): Promise<Check[]> {
  let client: Client | undefined;
  try {
    // A diagnosis says what happens; it does not try until it works.
    client = await connect({ ...context, retryBudget: new RetryBudget({ never: true }) });
    const request = operationRequest('getTeam', { params: { teamId: context.teamId() } });
    const sent = steadyTime(context.clock);
    const response = await client.send(request);
    const took = steadyTime(context.clock) - sent;
    const { method, path } = request;
    const { team } = checkAnswer('getTeam', readJson(response), { status: response.status, method, path });
    const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
    return [
      latencyCheck(took),
      ok('access', `team ${team.name}`),
      clockCheck(context, header('date'), took),
      limitCheck(header('ratelimit-remaining'), header('ratelimit-limit')),
      await interfaceCheck(client),
    ];
  } catch (error) {
    return refused(error);
  } finally {
    await client?.close();
  }
}

/** An answer that says no is an answer: the service is there. */
function refused(error: unknown): Check[] {
  const answered = error instanceof AopsError && error.details.status !== undefined && error.exit !== exitCodes.unavailable;
  const [first, second] = answered
    ? [ok('service', 'answers'), failed('access', error)]
    : [failed('service', error), skip('access', 'not asked')];
  return [first, second, ...serviceIds.slice(2).map((id) => skip(id, 'not asked'))];
}

function latencyCheck(took: number): Check {
  const detail = `answers in ${formatDuration(took)}, connecting included`;
  return took > slowAnswer ? warn('service', detail, 'Look at the network: a proxy or a VPN may be on the way.') : ok('service', detail);
}

/** `Date` has whole seconds and belongs to somewhere between sending and receiving. */
function clockCheck({ clock }: Context, date: string | undefined, took: number): Check {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs)) return skip('clock', 'the service does not say what time it is');
  const difference = Math.round((theirs + 500 - (clock.now() - took / 2)) / 1_000);
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
  if (remaining === undefined) return skip('rate limit', 'the service tells of none');
  const detail = `${remaining} of ${limit ?? '?'} requests left`;
  return Number(remaining) > 0 ? ok('rate limit', detail) : warn('rate limit', detail, 'Requests wait until the window ends.');
}

async function interfaceCheck(client: Client): Promise<Check> {
  try {
    const response = await client.send({ method: 'GET', path: '/v2/openapi.json', headers: {}, mutates: false });
    const { value } = readJson(response) as { value?: { info?: { version?: string } } | null };
    const version = value?.info?.version;
    if (version === interfaceVersion) return ok('interface', version);
    return warn(
      'interface',
      `${version ?? 'unknown'}; this aops is made for ${interfaceVersion}`,
      'What is newer may not be shown. Look for an update of aops.',
    );
  } catch (error) {
    if (error instanceof AopsError) return skip('interface', 'the service does not describe itself');
    throw error;
  }
}
