/** Writes every generated file, and removes files that are no longer generated. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generatedFiles, generatedFolders } from './files.ts';

const files = await generatedFiles();
for (const folder of generatedFolders) {
  for (const name of await readdir(folder).catch((): string[] => [])) {
    if (!files.has(`${folder}/${name}`)) await rm(path.join(folder, name));
  }
}
for (const [file, text] of files) {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}
console.log(`${files.size} files are up to date.`);
