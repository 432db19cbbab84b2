/** The man pages, as a strict reader of them sees them. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeNeeding, needsProgram } from '../support/requirements.ts';
import { root } from './markdown.ts';

const pages = readdirSync(path.join(root, 'man'));

describe('man pages', () => {
  it('are there for aops, its commands and topics', () => {
    expect(pages).toEqual(expect.arrayContaining(['aops.1', 'aops-runs-list.1', 'aops-api.1', 'aops-environment.7']));
  });

  it('are set flush left, because man warns of lines that it cannot justify', () => {
    for (const name of pages) expect(readFileSync(path.join(root, 'man', name), 'utf8'), name).toMatch(/^\.TH .*\n\.ad l\n/m);
  });
});

describeNeeding(needsProgram('mandoc', ['-T', 'ascii', '/dev/null']), 'man pages, as mandoc reads them,', () => {
  it('have nothing that mandoc would complain of', () => {
    const files = pages.map((name) => path.join(root, 'man', name));
    const { stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'style', ...files], { encoding: 'utf8' });
    expect(stdout).toBe('');
  });

  it('read as help does', () => {
    const { stdout } = spawnSync('mandoc', ['-T', 'ascii', path.join(root, 'man/aops-runs-list.1')], { encoding: 'utf8' });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: bold letters are overstruck
    const text = stdout.replaceAll(/.\u0008/g, '');
    expect(text).toContain('aops-runs-list - List runs, newest first');
    expect(text).toMatch(/--status STATUS\n/);
    expect(text).toMatch(/JSON FIELDS[\s\S]*agent_name\n +string/);
  });
});
