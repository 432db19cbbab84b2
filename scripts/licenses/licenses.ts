/** The licences of the libraries whose code is part of the bundle: they require that their text is distributed with it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Texts for libraries whose package contains none, by name. They are from the repositories of those libraries. */
const missingTexts = path.join('scripts', 'licenses');

/** The folder of the library that contains a module of the bundle; undefined for modules of the project. */
export const libraryFolder = (module: string): string | undefined =>
  /^\0?(?<folder>.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)/.exec(module)?.groups?.folder;

/** One text with the licences and notices of the libraries in these folders. Throws if one has no text. */
export function licensesOf(folders: Iterable<string>): string {
  const entries = new Map([...new Set(folders)].map((folder) => entryOf(folder)));
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  const heading = 'aops contains code of the libraries below. These are their licences.';
  return [heading, ...sorted.map(([title, text]) => `${'='.repeat(80)}\n${title}\n\n${text}`)].join('\n\n').concat('\n');
}

function entryOf(folder: string): [title: string, text: string] {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  const names = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice|thirdpartynotice)/i.test(file));
  const own = path.join(missingTexts, `${(name as string).replace('/', '__')}.txt`);
  const files = names.length > 0 ? names.sort().map((file) => path.join(folder, file)) : [own].filter((file) => existsSync(file));
  if (files.length === 0) throw new Error(`${folder} contains no licence. Store the text from its repository in ${own}.`);
  return [`${name} ${version} (${license})`, files.map((file) => readFileSync(file, 'utf8').trim()).join('\n\n')];
}
