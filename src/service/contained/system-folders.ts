/** The parts of the system that every contained program can read: programs, libraries, and the settings that they need, but no secrets. */
import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** A folder or file that is visible at its own path, or a link. */
export interface SystemEntry {
  path: string;
  /** The target, for a link. */
  target?: string;
}

/** `/nix/store` contains all programs of NixOS, and is readable by everyone by design. */
const folders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];

/**
 * Settings below /etc. Folders that can contain private keys (`ssl/private`, `pki/tls/private`) or accounts are left out, because a
 * service that runs as root could read them.
 */
const settings = [
  ...['alternatives', 'crypto-policies', 'fonts', 'gai.conf', 'host.conf', 'inputrc', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d'],
  ...['locale.alias', 'locale.conf', 'localtime', 'magic', 'mime.types', 'nsswitch.conf', 'os-release', 'debian_version'],
  ...['alpine-release', 'redhat-release', 'profile', 'protocols', 'services', 'shells', 'terminfo', 'timezone'],
  ...['ca-certificates', 'pki/ca-trust', 'pki/java', 'pki/tls/cert.pem', 'pki/tls/certs', 'pki/tls/openssl.cnf'],
  ...['ssl/cert.pem', 'ssl/certs', 'ssl/openssl.cnf', 'static', 'zoneinfo'],
];
/** Settings of language runtimes, such as `java-17-openjdk`. */
const versionedNames = /^(java-\d|python\d|perl$)/;

/** Only for programs that use the network of the host. */
export const networkSettings = ['/etc/hosts', '/etc/resolv.conf'];

/** The entries that exist on this machine. */
export function systemEntries(): SystemEntry[] {
  const etc = tryTo(() => readdirSync('/etc')) ?? [];
  const names = [...settings, ...etc.filter((name) => versionedNames.test(name))];
  return [...folders, ...names.map((name) => path.join('/etc', name))].flatMap((place) => entryOf(place) ?? []);
}

/** A link that points into one of the folders remains a link; any other is replaced by its target. */
function entryOf(place: string): SystemEntry | undefined {
  const stats = tryTo(() => lstatSync(place));
  if (stats === undefined) return undefined;
  if (!stats.isSymbolicLink()) return { path: place };
  const target = tryTo(() => readlinkSync(place));
  const real = tryTo(() => realpathSync.native(place));
  if (target === undefined || real === undefined) return undefined;
  return folders.some((folder) => isWithin(folder, real)) ? { path: place, target } : { path: place };
}

/** Whether a path is a folder or below it. Both paths are absolute and normalised. */
export function isWithin(folder: string, place: string): boolean {
  const relative = path.relative(folder, place);
  return relative !== '..' && !relative.startsWith('../') && !path.isAbsolute(relative);
}

function tryTo<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
