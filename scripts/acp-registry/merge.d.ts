import type { AcpRegistry } from '../../src/service/runtimes/acp/registry.ts';

/** `linux-x86_64` as `linux-x64`. Throws for a platform that the format does not define. */
export function nodePlatform(target: string): string;

/** The snapshot with the published versions and commands of its agents. @param date the day, such as 2026-11-22 */
export function merge(
  snapshot: AcpRegistry,
  publishedRegistry: { agents: readonly { id: string; version: string; distribution: object }[] },
  date: string,
): {
  snapshot: AcpRegistry;
  /** Agents whose version or command changed. */
  changed: string[];
  /** Agents of the snapshot that are no longer published. */
  missing: string[];
  /** Published agents that the snapshot does not contain. */
  unlisted: string[];
};
