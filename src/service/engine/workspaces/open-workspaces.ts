/** The files of sandboxes, depending on whether other nodes use the same database. */
import { isShared } from '../../store/database/row-locks.ts';
import type { HasRepositories, HasSandboxes } from '../engine.ts';
import type { Workspaces } from '../run-workspaces.ts';
import { localWorkspaces } from './local-workspaces.ts';
import type { BytesEngine } from './stored-bytes.ts';

/** @param node names this process */
export async function openWorkspaces(engine: BytesEngine & HasSandboxes & HasRepositories, node: string): Promise<Workspaces> {
  const { store, clock, sandboxes, repositories } = engine;
  if (!isShared(store)) return localWorkspaces(sandboxes, engine);
  const { SharedWorkspaces } = await import('./shared-workspaces.ts');
  // The job that does this otherwise runs on one of the nodes.
  const sweep = async (): Promise<void> => {
    await sandboxes.sweep();
    await repositories.sweep(clock.now());
  };
  return new SharedWorkspaces(engine, { sandboxes, node, sweep });
}
