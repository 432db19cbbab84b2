/** The command that installs the library that controls the browser. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { installCommand } from '../../../src/service/browser/library.ts';

const file = (...words: string[]): string => path.join(path.sep, ...words, 'dist', 'library.js');
const noFile = (): boolean => false;

it('installs the library where the program was installed', () => {
  expect(installCommand(file('usr', 'lib', 'node_modules', 'aops'), noFile)).toMatch(
    /^npm install --global playwright-core@\d+\.\d+\.\d+$/,
  );
  const project = path.join(path.sep, 'home', 'ada', 'shop');
  const inProject = (name: string): boolean => name === path.join(project, 'package.json');
  expect(installCommand(file('home', 'ada', 'shop', 'node_modules', 'aops'), inProject)).toMatch(
    new RegExp(`^npm install --prefix '${project}' playwright-core@\\d`),
  );
  expect(installCommand(file('home', 'ada', 'aops'), noFile)).toBe('npm ci');
});
