/** The flags for the address, names and limits of a service. */
import { isIP } from 'node:net';
import { UsageError } from '../../base/errors.ts';
import { readBytes, readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { duration, flag, integer, text, texts } from '../../cli/kit/flags.ts';
import type { ServiceOptions } from '../../service/service.ts';

export const listeningOptions = {
  host: text('ADDRESS', 'Listen on this address (default: 127.0.0.1)'),
  port: integer('N', 'Listen on this port (default: a free port)', { minimum: 0, maximum: 65_535 }),
  tlsCert: text('FILE', 'Use TLS with this certificate (PEM, including its chain); SIGHUP reloads it', { complete: 'files' }),
  tlsKey: text('FILE', 'Private key of the certificate (PEM)', { complete: 'files' }),
  insecureHttp: flag('Allow other machines to connect without TLS: tokens and data can then be read in transit'),
  publicUrl: text('URL', 'Public address of the service behind a proxy, used in the URLs it returns and in links in messages', {
    check: originOf,
  }),
  allowHost: texts('NAME', 'Also accept this name in the Host header; can be repeated', { check: hostName }),
  trustProxy: texts(
    'ADDRESS|CIDR',
    'Trust X-Forwarded-For or Forwarded from this proxy, for rate limits and the log; can be repeated (default: trust none)',
  ),
  rateLimit: text('N/s|m|h', 'Requests allowed per credential and second, minute, or hour (default: 3000/m)', { check: rateCheck }),
  runConcurrency: integer('N', 'Number of runs to execute at a time (default: what the plan of each team allows)', {
    minimum: 1,
    maximum: 10_000,
  }),
  metricsTokenFile: text('FILE', 'Allow access to /metrics with the token in this file (default: only from this machine)', {
    complete: 'files',
  }),
  drainDelay: duration('Keep serving this long after the signal to stop, while /readyz reports not ready (default: 0s)'),
  drainTimeout: duration('Wait this long for requests, and again for deliveries, before stopping (default: 5s)'),
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

type ListenOptions = Pick<
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

/** The options for the service. @throws UsageError for files that cannot be read or are invalid */
export async function listeningSettings(context: Context, input: ListeningInput): Promise<ListenOptions> {
  const tls = await readTls(context, input);
  const { host, port, publicUrl, runConcurrency } = input;
  return {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(tls === undefined ? {} : { tls }),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(runConcurrency === undefined ? {} : { runConcurrency }),
    ...(input.rateLimit === undefined ? {} : { rateLimit: rateOf(input.rateLimit) as NonNullable<ListenOptions['rateLimit']> }),
    ...(input.metricsTokenFile === undefined ? {} : { metricsToken: await readToken(context, input.metricsTokenFile) }),
    insecureHttp: input.insecureHttp,
    allowedHosts: input.allowHost,
    trustedProxies: input.trustProxy,
  };
}

/** The certificate and its key; undefined without TLS. @throws UsageError when one of them is missing */
export async function readTls(context: Context, { tlsCert, tlsKey }: Pick<ListeningInput, 'tlsCert' | 'tlsKey'>) {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new UsageError('--tls-cert and --tls-key must be used together.');
  // Besides its blocks, a PEM file can contain comments in any encoding.
  const [cert, key] = [String(await readBytes(context, tlsCert)), String(await readBytes(context, tlsKey))];
  context.terminal.protect(key);
  return { cert, key };
}

const minTokenLength = 16;

async function readToken(context: Context, file: string): Promise<string> {
  const token = (await readText(context, file)).trim();
  if (/^\S+$/.test(token) && token.length >= minTokenLength) {
    context.terminal.protect(token);
    return token;
  }
  throw new UsageError(
    `${file} does not contain a valid token: it must be one word of at least ${minTokenLength} characters.`,
    'Create one with `openssl rand -hex 32`.',
  );
}

const units: Record<string, number> = { s: 1, m: 60, h: 3_600 };

function rateOf(value: string): ListenOptions['rateLimit'] | undefined {
  const [, number, unit = 'm'] = /^([1-9]\d{0,8})(?:\/([smh]))?$/.exec(value) ?? [];
  return number === undefined ? undefined : { limit: Number(number), windowSeconds: units[unit] as number };
}

function rateCheck(value: string, name: string): string {
  if (rateOf(value) !== undefined) return value;
  throw new UsageError(`${name} must be a number of requests per time, such as 3000/m or 50/s; "${value}" is not valid.`);
}

function originOf(value: string, name: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.href === `${url.origin}/`;
  if (isOrigin) return url.origin;
  throw new UsageError(`${name} must be an address without a path, such as https://agents.example.com; "${value}" is not valid.`);
}

function hostName(value: string, name: string): string {
  const host = isIP(value) === 6 ? `[${value}]` : value;
  // Patterns are not supported: names are compared literally.
  if (!host.includes('*') && URL.canParse(`http://${host}`) && new URL(`http://${host}`).hostname === host.toLowerCase())
    return host.toLowerCase();
  throw new UsageError(`${name} must be a host name without a port, such as agents.example.com; "${value}" is not valid.`);
}
