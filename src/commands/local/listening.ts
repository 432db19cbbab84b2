/** The flags that say where a service listens, by which names it is reached, and how much it takes on at a time. */
import { isIP } from 'node:net';
import { UsageError } from '../../base/errors.ts';
import { readBytes, readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { duration, flag, integer, text, texts } from '../../cli/kit/flags.ts';
import type { ServiceOptions } from '../../service/service.ts';

export const listeningOptions = {
  host: text('ADDRESS', 'Listen on this address (default 127.0.0.1)'),
  port: integer('N', 'Listen on this port (default: a free one)', { minimum: 0, maximum: 65_535 }),
  tlsCert: text('FILE', 'Speak TLS with this certificate (PEM, with its chain); SIGHUP reads it again', { complete: 'files' }),
  tlsKey: text('FILE', 'The private key of the certificate (PEM)', { complete: 'files' }),
  insecureHttp: flag('Listen beyond this machine without TLS: everybody on the way can read tokens and data'),
  publicUrl: text('URL', 'Where others reach the service, through a proxy: it is in the URLs that it gives', { check: originOf }),
  allowHost: texts('NAME', 'Answer to this name in the Host header, too; may be repeated', { check: hostName }),
  trustProxy: texts(
    'ADDRESS|CIDR',
    'Believe X-Forwarded-For or Forwarded of this proxy, for rate limits and the log; may be repeated (default: believe nobody)',
  ),
  rateLimit: text('N/s|m|h', 'Requests that each credential may make in a second, minute or hour (default 3000/m)', { check: rateCheck }),
  runConcurrency: integer('N', 'Execute so many runs at a time (default: what the plans allow a team)', { minimum: 1, maximum: 10_000 }),
  metricsTokenFile: text('FILE', 'Tell /metrics to whoever has the token in this file (default: to this machine alone)', {
    complete: 'files',
  }),
  drainDelay: duration('Go on for so long after the signal to end, while /readyz says no (default 0s)'),
  drainTimeout: duration('Wait so long for requests, and again for deliveries, before the end (default 5s)'),
} as const;

export interface ListeningInput {
  host: string | undefined;
  port: number | undefined;
  tlsCert: string | undefined;
  tlsKey: string | undefined;
  insecureHttp: boolean;
  publicUrl: string | undefined;
  allowHost: string[];
  trustProxy: string[];
  rateLimit: string | undefined;
  runConcurrency: number | undefined;
  metricsTokenFile: string | undefined;
}

type Listening = Pick<
  ServiceOptions,
  | 'host'
  | 'port'
  | 'tls'
  | 'insecureHttp'
  | 'publicUrl'
  | 'allowedHosts'
  | 'trustedProxies'
  | 'rateLimit'
  | 'runConcurrency'
  | 'metricsToken'
>;

/** As the service takes them. @throws UsageError for files that cannot be read or hold something else */
export async function listeningSettings(context: Context, input: ListeningInput): Promise<Listening> {
  const tls = await readTls(context, input);
  const { host, port, publicUrl, runConcurrency } = input;
  return {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(tls === undefined ? {} : { tls }),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(runConcurrency === undefined ? {} : { runConcurrency }),
    ...(input.rateLimit === undefined ? {} : { rateLimit: rateOf(input.rateLimit) as NonNullable<Listening['rateLimit']> }),
    ...(input.metricsTokenFile === undefined ? {} : { metricsToken: await readToken(context, input.metricsTokenFile) }),
    insecureHttp: input.insecureHttp,
    allowedHosts: input.allowHost,
    trustedProxies: input.trustProxy,
  };
}

/** The certificate and its key; undefined without TLS. @throws UsageError when one of them is missing */
export async function readTls(context: Context, { tlsCert, tlsKey }: Pick<ListeningInput, 'tlsCert' | 'tlsKey'>) {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new UsageError('--tls-cert and --tls-key belong together.');
  // Beside its blocks a PEM file may hold remarks, in whatever encoding.
  const [cert, key] = [String(await readBytes(context, tlsCert)), String(await readBytes(context, tlsKey))];
  context.terminal.protect(key);
  return { cert, key };
}

const shortestToken = 16;

async function readToken(context: Context, file: string): Promise<string> {
  const token = (await readText(context, file)).trim();
  if (/^\S+$/.test(token) && token.length >= shortestToken) {
    context.terminal.protect(token);
    return token;
  }
  throw new UsageError(
    `${file} holds no token: it is to be one word of at least ${shortestToken} characters.`,
    'Make one with `openssl rand -hex 32`.',
  );
}

const units: Record<string, number> = { s: 1, m: 60, h: 3_600 };

function rateOf(value: string): Listening['rateLimit'] | undefined {
  const [, number, unit = 'm'] = /^([1-9]\d{0,8})(?:\/([smh]))?$/.exec(value) ?? [];
  return number === undefined ? undefined : { limit: Number(number), windowSeconds: units[unit] as number };
}

function rateCheck(value: string, name: string): string {
  if (rateOf(value) !== undefined) return value;
  throw new UsageError(`${name} takes a number of requests and the time for it, such as 3000/m or 50/s, not "${value}".`);
}

function originOf(value: string, name: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.href === `${url.origin}/`;
  if (isOrigin) return url.origin;
  throw new UsageError(`${name} takes an address without a path, such as https://agents.example.com, not "${value}".`);
}

function hostName(value: string, name: string): string {
  const host = isIP(value) === 6 ? `[${value}]` : value;
  // No patterns: a name is compared as it is.
  if (!host.includes('*') && URL.canParse(`http://${host}`) && new URL(`http://${host}`).hostname === host.toLowerCase())
    return host.toLowerCase();
  throw new UsageError(`${name} takes a host name without a port, such as agents.example.com, not "${value}".`);
}
