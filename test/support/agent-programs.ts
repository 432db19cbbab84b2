/** Folders with programs of agents, for services that search for them. */
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type AcpAgent, acpAgent, programOf } from '../../src/service/runtimes/acp/registry.ts';
import { misbehaving } from '../agents/installed.ts';

/** Adds a program for an agent of the registry, which behaves like our own agent. @param mode of test/agents/misbehaving.js */
export async function installAgent(folder: string, id: string, mode = 'well-behaved'): Promise<void> {
  const words = misbehaving(mode).map((word) => `'${word}'`);
  await writeFile(path.join(folder, programOf(acpAgent(id)).program), `#!/bin/sh\nexec ${words.join(' ')}\n`, { mode: 0o755 });
}

/** Adds the package of an agent with a program that does nothing, as npm installs it. @param node the range of versions that it declares */
export async function installPackage(folder: string, id: string, version: string, node: string): Promise<void> {
  const { npx } = acpAgent(id).distribution as Required<AcpAgent['distribution']>;
  const place = path.join(folder, 'lib', npx.package);
  await mkdir(place, { recursive: true });
  const manifest = { name: npx.package, version, bin: { [npx.program]: 'main.js' }, engines: { node } };
  await writeFile(path.join(place, 'package.json'), JSON.stringify(manifest));
  await writeFile(path.join(place, 'main.js'), '#!/usr/bin/env node\n');
  await chmod(path.join(place, 'main.js'), 0o755);
  await symlink(path.join(place, 'main.js'), path.join(folder, npx.program));
}
