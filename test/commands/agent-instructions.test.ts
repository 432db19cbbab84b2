import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const skill = (name: string, description = 'Writes release notes.') => `---\nname: ${name}\ndescription: ${description}\n---\nBe brief.\n`;
const create = (name: string, folder: string) => service.cli(['agents', 'create', name, '--acp', 'claude', '--instructions', folder]);
const definitionOf = async (name: string) =>
  parse((await service.cli(['revisions', 'get', `${name}@live`, '--jq', '.config.data.input'])).stdout) as Record<string, unknown>;
const put = async (files: Record<string, string | Uint8Array>) => {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.join(service.folder, path.dirname(name)), { recursive: true });
    await service.file(name, content);
  }
};

describe('agents create --instructions with a folder', () => {
  it('stores AGENTS.md and all files of the skills in the revision', async () => {
    const long = `${'word '.repeat(60)}\n\nEnd\n`;
    await put({
      'agent/AGENTS.md': long,
      'agent/README.md': 'not part of it',
      'agent/skills/release-notes/SKILL.md': skill('release-notes'),
      'agent/skills/release-notes/scripts/collect.sh': '#!/bin/sh\ngit log\n',
      'agent/skills/release-notes/.DS_Store': '\0',
      'agent/skills/review/SKILL.md': skill('review', '"Reviews: carefully."'),
      'agent/skills/index.md': 'A list',
    });
    await symlink('../release-notes/SKILL.md', path.join(service.folder, 'agent/skills/review/other.md'));
    const result = await create('whole', 'agent');
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('agent/skills/index.md is not the folder of a skill') });
    expect(await definitionOf('whole')).toMatchObject({
      instructions: long,
      skills: {
        'release-notes': { 'SKILL.md': skill('release-notes'), 'scripts/collect.sh': '#!/bin/sh\ngit log\n' },
        review: { 'SKILL.md': skill('review', '"Reviews: carefully."'), 'other.md': skill('release-notes') },
      },
    });
    expect((await service.cli(['agents', 'get', 'whole', '--jq', '.program.skills'])).json()).toEqual(['release-notes', 'review']);
  });

  it('accepts a folder with skills alone, such as .claude', async () => {
    await put({ '.claude/skills/one/SKILL.md': skill('one') });
    expect(await create('skills-only', '.claude')).toMatchObject({ code: 0, stderr: '' });
    expect(await definitionOf('skills-only')).toEqual({ version: 1, acp: 'claude', skills: { one: { 'SKILL.md': skill('one') } } });
  });

  it('replaces the skills of an agent with those of another folder', async () => {
    await put({ 'before/AGENTS.md': 'Stays.\n', 'before/skills/one/SKILL.md': skill('one'), 'after/skills/two/SKILL.md': skill('two') });
    expect((await create('replaced', 'before')).code).toBe(0);
    expect(await service.cli(['agents', 'update', 'replaced', '--instructions', 'after', '--yes'])).toMatchObject({ code: 0 });
    const text = (await service.cli(['revisions', 'get', 'replaced@latest', '--jq', '.config.data.input'])).stdout;
    expect(parse(text)).toMatchObject({ instructions: 'Stays.\n', skills: { two: { 'SKILL.md': skill('two') } } });
    expect(text).not.toContain('one');
  });

  it('lets revisions be compared line by line', async () => {
    await put({ 'a/skills/one/SKILL.md': skill('one'), 'a/AGENTS.md': 'First line.\nSecond line.\n' });
    expect((await create('compared', 'a')).code).toBe(0);
    const input = (await service.cli(['revisions', 'get', 'compared@live', '--jq', '.config.data.input'])).stdout;
    await service.file('changed.yaml', input.replace('Be brief.', 'Be brief and clear.').replace('Second', 'Last'));
    const update = await service.cli(['agents', 'update', 'compared', '--procedure', 'changed.yaml', '--runtime', 'acp']);
    expect(update).toMatchObject({ code: 0 });
    const { stdout } = await service.cli(['revisions', 'diff', 'compared@1', 'latest']);
    const changes = stdout.split('\n').filter((line) => /^[-+](?![-+]) *\S/.test(line));
    expect(changes.map((line) => line.replace(/^([-+]) */, '$1 '))).toEqual([
      '- Second line.',
      '+ Last line.',
      '- Be brief.',
      '+ Be brief and clear.',
    ]);
  });

  it.each<[string, Record<string, string | Uint8Array>, string]>([
    ['nothing to read', { 'README.md': '' }, 'contains neither AGENTS.md nor a folder skills'],
    ['a skill without SKILL.md', { 'skills/one/notes.md': '' }, 'skills/one contains no SKILL.md.'],
    ['a skill in SKILLS.md', { 'skills/one/SKILLS.md': skill('one') }, 'skills/one contains no SKILL.md.'],
    [
      'a picture',
      { 'skills/one/SKILL.md': skill('one'), 'skills/one/logo.png': Buffer.from([137, 80, 78, 71, 0]) },
      'logo.png is not a text',
    ],
    ['bytes that are not UTF-8', { 'AGENTS.md': Buffer.from([0x47, 0xfc]) }, 'AGENTS.md is not a text in UTF-8.'],
    [
      'too much text',
      { 'AGENTS.md': 'x'.repeat(1024 * 1024 + 1) },
      'is too large: instructions and skills can have at most 1 MiB together.',
    ],
    ['a SKILL.md without a header', { 'skills/one/SKILL.md': 'Be brief.' }, '`one` must begin with a YAML header'],
    ['a header that is not YAML', { 'skills/one/SKILL.md': skill('one', 'Use: when: needed') }, '`one` must begin with a YAML header'],
    ['a skill without a description', { 'skills/one/SKILL.md': skill('one', '""') }, 'needs a `description` in its header'],
    ['a long description', { 'skills/one/SKILL.md': skill('one', 'x'.repeat(1025)) }, 'a description of more than 1024 characters'],
    ['a skill with another name than its folder', { 'skills/one/SKILL.md': skill('two') }, 'must have the header `name: one`'],
    ['an invalid name', { 'skills/One_Two/SKILL.md': skill('One_Two') }, '`One_Two` is not the name of a skill'],
  ])('rejects %s', async (title, files, message) => {
    const folder = title.replaceAll(/\W/g, '-');
    await mkdir(path.join(service.folder, folder), { recursive: true });
    await put(Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content])));
    const refusal = await create('refused', folder);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect((await service.cli(['agents', 'get', 'refused'])).code).toBe(3);
  });

  it.each([
    ['a file', 'skills/one/secret.md', '../../../outside.md'],
    ['a folder', 'skills/two', '../../..'],
    ['AGENTS.md', 'AGENTS.md', '../outside.md'],
  ])('rejects a link out of the folder in place of %s', async (title, name, target) => {
    const folder = `links-${title.replaceAll(/\W/g, '-')}`;
    await put({ 'outside.md': 'outside', [`${folder}/skills/one/SKILL.md`]: skill('one') });
    await symlink(target, path.join(service.folder, folder, name));
    expect(await create('linked', folder)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${name} is a link that leads out of ${folder}.`),
    });
  });

  it('rejects a folder that contains itself', async () => {
    await put({ 'loop/skills/one/SKILL.md': skill('one') });
    await symlink('.', path.join(service.folder, 'loop/skills/one/again'));
    expect(await create('loop', 'loop')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a link to a folder that contains it.'),
    });
  });
});
