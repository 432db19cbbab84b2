/** Why programs cannot be contained on a machine, and how to change that. */

export interface Shortfall {
  /** What is missing, as a clause. */
  missing: string;
  /** What to do about it, as sentences. */
  remedy: string;
}

/** Appended to every remedy: the alternative without containment, and what it means. */
const hostAlternative = 'Or use `--exec host`, which runs commands as you, without isolation.';

export const missingBubblewrap: Shortfall = {
  missing: 'bubblewrap (bwrap) is not installed',
  remedy: `Install it, for example with \`apt-get install bubblewrap\`, and restart the service. ${hostAlternative}`,
};

export const missingNode: Shortfall = {
  missing: 'Node is not in PATH, and contained programs need it to reach the network',
  remedy: `Add the folder of Node to PATH, and restart the service. ${hostAlternative}`,
};

const platformNames: Readonly<Record<string, string>> = { darwin: 'macOS', win32: 'Windows' };

/** See docs/decisions/0012-macos.md. @param platform as `os.platform()` names it */
export const unsupportedPlatform = (platform: string): Shortfall => ({
  missing: `commands are only contained on Linux, and this is ${platformNames[platform] ?? platform}`,
  remedy: `Run the service on Linux, for example in a virtual machine. ${hostAlternative}`,
});

export interface NamespaceFacts {
  /** User namespaces are turned off in the kernel. */
  areDisabled: boolean;
  /** AppArmor limits them to programs with a profile. */
  areRestricted: boolean;
  /** This is a container of Docker or Podman. */
  isContainer: boolean;
}

/** Explains why bubblewrap did not start a program. @param errorOutput its standard error */
export function startShortfall(errorOutput: string, facts: NamespaceFacts): Shortfall {
  const firstLine = errorOutput.trim().split('\n')[0]?.trim() || 'it ended without a message';
  const missing = `bubblewrap cannot create a sandbox (${firstLine})`;
  return { missing, remedy: `${namespaceRemedy(facts)} ${hostAlternative}` };
}

function namespaceRemedy({ areDisabled, areRestricted, isContainer }: NamespaceFacts): string {
  if (isContainer)
    return 'This is a container: start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, which permits user namespaces inside it.';
  if (areDisabled)
    return 'User namespaces are turned off: set `user.max_user_namespaces=15000` and, if it exists, `kernel.unprivileged_userns_clone=1` with sysctl.';
  if (areRestricted)
    return 'AppArmor restricts user namespaces: add a profile that grants `userns` to bwrap (on Ubuntu, enable bwrap-userns-restrict of the package apparmor-profiles), or set `kernel.apparmor_restrict_unprivileged_userns=0` with sysctl.';
  return 'Check that `bwrap --unshare-all --ro-bind / / true` succeeds as the user of the service.';
}

/** Explains how a program could break out of a sandbox. @param leaks what it could do, as predicates */
export const leakShortfall = (leaks: readonly string[]): Shortfall => ({
  missing: `a trial command inside a sandbox ${leaks.join(', and ')}`,
  remedy: `Report this with the versions of bubblewrap and the kernel. ${hostAlternative}`,
});
