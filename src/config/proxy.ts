/**
 * Which proxy to use for an address, from the variables that curl, Go and Python read. A lower-case name takes precedence over
 * its upper-case form, an empty value counts as unset, a missing scheme means http, and this machine is never proxied.
 */
import { BlockList, isIP } from 'node:net';
import { UsageError } from '../base/errors.ts';
import { isLoopback } from '../base/loopback.ts';
import type { Environment } from './paths.ts';

/** A proxy. Its password is separate from the origin and must not appear in any message. */
export interface ProxyServer {
  /** Scheme, host and port. */
  origin: string;
  /** The variable that sets it: `HTTPS_PROXY`. */
  variable: string;
  /** User name and password, decoded; secrets. */
  login?: { user: string; password: string };
}

/** The proxy for a URL, or undefined for a direct connection. @throws UsageError for a variable that is not a usable proxy address */
export type ProxyChoice = (url: URL) => ProxyServer | undefined;

/** The proxies that the environment sets, or undefined when it sets none. */
export function proxiesOf(env: Environment): ProxyChoice | undefined {
  const allProxy = firstSet(env, 'all_proxy');
  const variables: Record<string, Variable | undefined> = {
    'http:': firstSet(env, 'http_proxy') ?? allProxy,
    'https:': firstSet(env, 'https_proxy') ?? allProxy,
  };
  if (!variables['http:'] && !variables['https:']) return undefined;
  const exempt = exemptions(firstSet(env, 'no_proxy')?.value ?? '');
  return (url) => {
    const variable = variables[url.protocol];
    return variable === undefined || isLoopback(url.hostname) || exempt(url) ? undefined : parseProxy(variable);
  };
}

/** The secrets in the environment's proxy variables, so that they can be masked everywhere. */
export function proxySecrets(env: Environment): string[] {
  const secrets = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) =>
    [env[name], env[name.toUpperCase()]].flatMap((value) => {
      const login = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/]*)@/i.exec(value?.trim() ?? '')?.[1];
      if (login === undefined) return [];
      const password = login.slice(login.indexOf(':') + 1);
      return [login, decodePart(login), password, decodePart(password)];
    }),
  );
  return [...new Set(secrets)];
}

interface Variable {
  name: string;
  value: string;
}

function firstSet(env: Environment, lowerCase: string): Variable | undefined {
  for (const name of [lowerCase, lowerCase.toUpperCase()]) {
    const value = env[name]?.trim();
    if (value) return { name, value };
  }
  return undefined;
}

function parseProxy({ name, value }: Variable): ProxyServer {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  // The value is never shown: it may contain a password.
  if (!URL.canParse(text)) throw new UsageError(`${name} is not a usable proxy address.`, 'Write it like http://proxy.example.com:8080.');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new UsageError(
      `${name} names a proxy of type "${url.protocol.slice(0, -1)}", which aops does not support.`,
      'Set HTTPS_PROXY to an http or https proxy, or add the host to NO_PROXY.',
    );
  }
  const login = { user: decodePart(url.username), password: decodePart(url.password) };
  return { origin: url.origin, variable: name, ...(login.user || login.password ? { login } : {}) };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Whether NO_PROXY exempts a URL: `*`, host names that include their subdomains (`example.com`, `.example.com`,
 * `*.example.com`), addresses, and networks (`10.0.0.0/8`), each optionally limited to one port.
 */
function exemptions(list: string): (url: URL) => boolean {
  const rules = list.split(/[,\s]+/).filter((entry) => entry !== '');
  if (rules.includes('*')) return () => true;
  const matchers = rules.map((rule) => matcher(rule.toLowerCase()));
  return (url) => {
    const host = url.hostname
      .toLowerCase()
      .replace(/^\[|\]$/g, '')
      .replace(/\.$/, '');
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    return matchers.some((matches) => matches(host, port));
  };
}

type Matcher = (host: string, port: string) => boolean;

function matcher(rule: string): Matcher {
  const network = /^([0-9a-f.:]+)\/(\d{1,3})$/.exec(rule);
  if (network) return networkMatcher(network[1] as string, Number(network[2]));
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+|[0-9a-f.]*(?::[0-9a-f.]*){2,}))(?::(\d+))?$/.exec(rule) ?? [];
  const name = (bracketed ?? plain ?? rule).replace(/^\*?\./, '').replace(/\.$/, '');
  return (host, hostPort) =>
    (port === undefined || port === hostPort) && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)));
}

function networkMatcher(address: string, prefix: number): Matcher {
  const version = isIP(address);
  if (version === 0 || prefix > (version === 4 ? 32 : 128)) return () => false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const network = new BlockList();
  network.addSubnet(address, prefix, family);
  return (host) => isIP(host) === version && network.check(host, family);
}
