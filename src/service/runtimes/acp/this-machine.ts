/** This machine, as the search for programs of agents needs it. */
import { realpath } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isProgram } from '../../../base/program.ts';
import type { AgentHost } from './installation.ts';
import type { AcpOptions } from './options.ts';

export type MachineOptions = Pick<AcpOptions, 'searchPath' | 'node' | 'nodeVersion'>;

/** What programs see that are started with the search path. */
export async function thisMachine({ searchPath, node, nodeVersion }: MachineOptions): Promise<AgentHost> {
  const isVersionKnown = nodeVersion !== undefined && node !== undefined && (await isFirstNode(node, searchPath));
  return { searchPath, platform: os.platform(), arch: os.arch(), ...(isVersionKnown ? { nodeVersion } : {}) };
}

/** Whether a program is the Node that executes packages. */
async function isFirstNode(file: string, searchPath: string): Promise<boolean> {
  for (const folder of searchPath.split(path.delimiter).filter((each) => path.isAbsolute(each))) {
    const candidate = path.join(folder, 'node');
    if (await isProgram(candidate)) return (await realpath(candidate)) === (await realpath(file));
  }
  return false;
}
