/** The programs of a Postgres server on this machine. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Debian does not put the programs of the server on the search path. */
const debianFolder = '/usr/lib/postgresql';

/** The folder of the programs: an empty text if they are on the search path, undefined if Postgres is not installed. */
export const programs = findPrograms();

function findPrograms(): string | undefined {
  if (spawnSync('initdb', ['--version'], { stdio: 'ignore' }).error === undefined) return '';
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => path.join(debianFolder, version, 'bin'));
  return folders.find((folder) => existsSync(path.join(folder, 'initdb')));
}
