/** Brings the bundled snapshot of the registry of agents up to date with the published registry. */

/** The platforms of the published registry in the words of Node. */
const platformNames = { darwin: 'darwin', linux: 'linux', windows: 'win32' };
const archNames = { aarch64: 'arm64', x86_64: 'x64' };

/** `linux-x86_64` as `linux-x64`. Throws for a platform that the format does not define. */
export function nodePlatform(target) {
  const [system, arch] = target.split('-');
  const platform = `${platformNames[system]}-${archNames[arch]}`;
  if (platform.includes('undefined')) throw new Error(`Unknown platform ${target}`);
  return platform;
}

/** `@scope/name@1.2.3` as name and version; the version is empty if there is none. */
function splitPackage(text) {
  const at = text.lastIndexOf('@');
  return at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, ''];
}

/** An agent of the snapshot with the version and the command of its published entry. */
function mergedAgent(agent, entry) {
  const { npx, binary } = entry.distribution;
  if (agent.distribution.npx !== undefined && npx !== undefined) {
    const [name, version] = splitPackage(npx.package);
    const { program, node } = agent.distribution.npx;
    return {
      ...agent,
      version: version || entry.version,
      distribution: {
        npx: { package: name, program: npx.cmd ?? program, args: npx.args ?? [], node },
        platforms: agent.distribution.platforms,
      },
      environment: { ...agent.environment, ...npx.env },
    };
  }
  if (agent.distribution.binary !== undefined && binary !== undefined) {
    const [first] = Object.values(binary);
    return {
      ...agent,
      version: entry.version,
      distribution: {
        binary: { program: agent.distribution.binary.program, args: first?.args ?? [] },
        platforms: Object.keys(binary).map(nodePlatform).sort(),
      },
    };
  }
  return agent;
}

const isEqual = (left, right) => JSON.stringify(left) === JSON.stringify(right);

/**
 * The snapshot with the published versions and commands of its agents. What was verified with an agent that has changed is no longer
 * known, so that it has to be verified again.
 * @param date the day, such as 2026-11-22
 * @returns the snapshot, the IDs of the agents that changed or are no longer published, and those that are published but not in the snapshot
 */
export function merge(snapshot, publishedRegistry, date) {
  const entries = new Map(publishedRegistry.agents.map((entry) => [entry.id, entry]));
  const changedIds = [];
  const missing = [];
  const agents = snapshot.agents.map((agent) => {
    const entry = entries.get(agent.id);
    if (entry === undefined) {
      missing.push(agent.id);
      return agent;
    }
    entries.delete(agent.id);
    const mergeResult = mergedAgent(agent, entry);
    if (isEqual(mergeResult, agent)) return agent;
    changedIds.push(agent.id);
    return { ...mergeResult, verified: [] };
  });
  return { snapshot: { ...snapshot, date, agents }, changed: changedIds, missing, unlisted: [...entries.keys()].sort() };
}
