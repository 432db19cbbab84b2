/** Links and file names in the documents lead somewhere, and their JSON and YAML can be read. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { documents, fencedBlocks, readDocument, root } from './markdown.ts';

const exampleGuide = 'examples/invoice-queue/README.md';
const pages = [...documents, exampleGuide, ...readdirSync(path.join(root, 'docs/manual')).map((name) => `docs/manual/${name}`)];

const withoutBlocks = (markdown: string): string => markdown.replace(/^```[\s\S]*?^```$/gm, '');

/** The text outside of code. */
const prose = (markdown: string): string => withoutBlocks(markdown).replace(/`[^`\n]*`/g, 'code');

/** The anchors of a page's headings, as GitHub makes them. */
const anchors = (markdown: string): string[] =>
  [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Every file of the repository that a page can refer to. */
const repositoryFiles = ['src', 'test', 'scripts', 'docs', 'bench', 'bin', 'examples', 'deploy']
  .flatMap((folder) => readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
  .concat(readdirSync(root))
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => !name.split('/').includes('node_modules'));

describe.each([...documents.filter((name) => name.startsWith('docs/decisions/')), 'docs/architecture.md', 'CONTRIBUTING.md'])(
  '%s, which explains the source,',
  (page) => {
    it('names source files that exist, also by the end of their path', () => {
      const names = [...readDocument(page).matchAll(/(?<![\w./-])([\w-][\w/-]*(?:\.[\w-]+)*\.(?:ts|js|css|grit))\b/g)].map(
        ([, name = '']) => name,
      );
      const built = ['dist/render-worker.js'];
      const missingNames = names.filter(
        (name) =>
          !/NNNN|^prototype/.test(name) &&
          !built.includes(name) &&
          !repositoryFiles.some((file) => file === name || file.endsWith(`/${name}`)),
      );
      expect(missingNames).toEqual([]);
    });
  },
);

describe.each(pages)('%s', (page) => {
  const markdown = readDocument(page);

  it('has links that lead somewhere', () => {
    const targets = [...prose(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target));
    const brokenTargets = targets.filter((target) => {
      const [file = '', anchor] = target.split('#');
      const fullPath = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
      if (!existsSync(path.join(root, fullPath))) return true;
      return anchor !== undefined && !anchors(readDocument(fullPath)).includes(anchor);
    });
    expect(brokenTargets).toEqual([]);
  });

  it('names files of the repository that exist', () => {
    const names = [...withoutBlocks(markdown).matchAll(/`((?:src|test|scripts|docs|bench|bin|examples)\/[\w./@-]+)`/g)].map(
      ([, name = '']) => name,
    );
    expect(names.filter((name) => !/NNNN/.test(name) && !existsSync(path.join(root, name)))).toEqual([]);
  });

  it('names identifiers that exist in the files that they link to', () => {
    const links = [...withoutBlocks(markdown).matchAll(/\[`(\w+)(?:\(\))?`\]\(([^)#\s]+\.(?:ts|js))\)/g)];
    const missingLinks = links.filter(([, name = '', target = '']) => {
      const file = path.join(root, path.posix.join(path.posix.dirname(page), target));
      return !(existsSync(file) && statSync(file).isFile() && new RegExp(`\\b${name}\\b`).test(readFileSync(file, 'utf8')));
    });
    expect(missingLinks.map(([link]) => link)).toEqual([]);
  });

  it('has JSON and YAML that can be read', () => {
    for (const { language, line, lines } of fencedBlocks(markdown)) {
      const location = `${page}:${line}`;
      if (language === 'json') expect(() => JSON.parse(lines.join('\n')), location).not.toThrow();
      if (language === 'yaml')
        expect(
          parseAllDocuments(lines.join('\n')).flatMap(({ errors }) => errors.map(String)),
          location,
        ).toEqual([]);
    }
  });
});
