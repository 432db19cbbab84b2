import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatedFiles, generatedFolders } from '../../scripts/generate/files.ts';
import { root } from './markdown.ts';

describe('generated files', async () => {
  const files = await generatedFiles();

  it.each([...files])('%s is up to date; if not, run `npm run generate`', (name, text) => {
    expect(readFileSync(path.join(root, name), 'utf8')).toBe(text);
  });

  it.each(generatedFolders)('%s holds nothing else; if it does, run `npm run generate`', (folder) => {
    expect(readdirSync(path.join(root, folder)).filter((name) => !files.has(`${folder}/${name}`))).toEqual([]);
  });
});
