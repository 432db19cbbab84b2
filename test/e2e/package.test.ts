/** The package as npm installs it: its files, its libraries, and the program that it contains. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, expect, it } from 'vitest';
import { root } from '../docs/markdown.ts';
import { cleanEnvironment } from '../support/clean-environment.ts';
import { Machine, type ProcessResult } from '../support/machine.ts';
import { temporaryFolder } from '../support/temporary.ts';

interface Manifest {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}
const read = <Content>(...words: string[]): Content => JSON.parse(readFileSync(path.join(...words), 'utf8')) as Content;

/** The folder of a project in which only the package is installed, as `npm install aops` does. */
let project: string;

beforeAll(async () => {
  project = await temporaryFolder();
  for (const file of packedFiles()) cpSync(path.join(root, file), path.join(project, 'node_modules/aops', file));
  for (const folder of installedLibraries()) cpSync(path.join(root, folder), path.join(project, folder), { recursive: true });
});

/** What `npm pack` packs. */
const packedFiles = (): string[] => {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return (JSON.parse(output) as [{ files: { path: string }[] }])[0].files.map((file) => file.path);
};

/** The folders of the libraries that npm installs with the package, and that exist on this platform. */
const installedLibraries = (): string[] =>
  Object.entries(read<{ packages: Record<string, { dev?: boolean }> }>(root, 'package-lock.json').packages)
    .filter(([folder, { dev }]) => folder !== '' && !dev && existsSync(path.join(root, folder)))
    .map(([folder]) => folder);

const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((total, entry) => total + statSync(path.join(entry.parentPath, entry.name)).size, 0);

const installed = (machine: Machine, ...argv: string[]): Promise<ProcessResult> =>
  machine.run(process.execPath, [path.join(project, 'node_modules/aops/bin/aops.js'), ...argv]);

it('installs at most 12 packages and 45 MiB', () => {
  expect(installedLibraries().length + 1).toBeLessThanOrEqual(12);
  expect(sizeOf(project) / 2 ** 20).toBeLessThanOrEqual(45);
});

it('contains or installs everything that its code loads', () => {
  const bundle = path.join(project, 'node_modules/aops/dist');
  // Threads and the bridge out of sandboxes start when they are loaded.
  const programs = /^(render-worker|database-reader|contained-bridge)\.js$/;
  const files = readdirSync(bundle).filter((name) => name.endsWith('.js') && !programs.test(name));
  expect(files.length).toBeGreaterThan(100);
  const missing = `
    for (const file of ${JSON.stringify(files)}) require(${JSON.stringify(bundle)} + '/' + file);
    const { builtinModules, createRequire } = require('node:module');
    const names = ${JSON.stringify(externalNames(bundle))}.filter((name) => !builtinModules.includes(name.replace(/^node:/, '')));
    console.log(names.filter((name) => { try { createRequire(${JSON.stringify(`${bundle}/main.js`)}).resolve(name); } catch { return true; } }).join());`;
  const output = execFileSync(process.execPath, ['-e', missing], { encoding: 'utf8', env: cleanEnvironment() });
  expect(output.trim()).toBe('playwright-core');
});

/** The names of packages that the bundle loads. ajv's are only in the text of modules that it could generate. */
const externalNames = (bundle: string): string[] => [
  ...new Set(
    readdirSync(bundle)
      .filter((name) => name.endsWith('.js'))
      .flatMap((name) => [
        ...readFileSync(path.join(bundle, name), 'utf8').matchAll(/\brequire\([`'"](?<name>(?!ajv)[^.`'"][^`'"]*)[`'"]\)/g),
      ])
      .map((match) => match.groups?.name as string),
  ),
];

it('runs commands, the service, templates and jq', async () => {
  const machine = await Machine.create();
  const aops = async (...argv: string[]): Promise<string> => {
    const { code, stdout, stderr } = await installed(machine, ...argv);
    expect([code, stderr], argv.join(' ')).toEqual([0, expect.any(String)]);
    return stdout;
  };
  const procedure = await machine.file('p.yaml', 'version: 1\nsteps:\n  - say: "{{ 1 | plus: 2 }} is the sum."\n');
  await aops('local', 'up');
  try {
    await aops('agents', 'create', 'adder', '--procedure', procedure);
    const id = (await aops('runs', 'start', '--agent', 'adder', '-o', 'id')).trim();
    await aops('runs', 'wait', id);
    expect(await aops('runs', 'messages', id, '--json', '--jq', '.data')).toContain('3 is the sum.');
  } finally {
    await aops('local', 'down');
  }
});

it('explains how to install the library for browsers, which is optional', async () => {
  const machine = await Machine.create();
  await machine.file('bin/chromium', '#!/bin/sh\n');
  const { stdout } = await installed(machine, 'doctor', '--offline', '--json', '--jq', '.checks[] | select(.id == "browser").hint');
  const { peerDependencies } = read<Manifest>(root, 'package.json');
  expect(stdout).toContain(`npm install --global playwright-core@${(peerDependencies['playwright-core'] as string).replace('^', '')}`);
});

it('contains the licences of all libraries that the sources import and npm does not install', () => {
  const text = readFileSync(path.join(project, 'node_modules/aops/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  const { dependencies, peerDependencies } = read<Manifest>(root, 'package.json');
  const names = importedNames(path.join(root, 'src')).filter((name) => !(name in dependencies) && !(name in peerDependencies));
  expect(names.length).toBeGreaterThan(15);
  for (const name of names) {
    const folder = path.join(root, 'node_modules', name);
    expect(text, name).toContain(`\n${name} ${read<{ version: string }>(folder, 'package.json').version} (`);
    const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (license !== undefined) expect(text, name).toContain(readFileSync(path.join(folder, license), 'utf8').trim());
  }
});

/** The names of the packages whose code the modules in a folder import. */
const importedNames = (folder: string): string[] => [
  ...new Set(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => [...readFileSync(path.join(folder, name), 'utf8').matchAll(imports)])
      .map((match) => match.groups?.name as string),
  ),
];
const imports = /^(?:import (?!type )[^;]*?from |.*\bimport\()'(?<name>(?!node:)(?:@[\w.-]+\/)?[a-z][\w.-]*)(?:\/[^']*)?'/gm;

it('declares the modules of the team page as modules, and the program as CommonJS', () => {
  const typeOf = (folder: string): unknown => read<{ type?: unknown }>(project, 'node_modules/aops', folder, 'package.json').type;
  // Browsers start the service worker as a classic script, which is a valid module, too.
  const page = path.join(project, 'node_modules/aops/dist/team-page');
  const modules = readdirSync(page).filter((name) => name.endsWith('.js') && name !== 'worker.js');
  expect(modules.length).toBeGreaterThan(0);
  for (const name of modules) expect(readFileSync(path.join(page, name), 'utf8'), name).toMatch(/^(import|export) /m);
  expect(typeOf('dist/team-page')).toBe('module');
  expect(typeOf('dist')).toBe('commonjs');
});
