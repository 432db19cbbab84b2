/** Where an agent gets its instructions and skills from. test/agents/runs.test.ts shows that real agents read them there. */
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../../src/interface/types.ts';
import { systemPath } from '../../../../src/service/sandbox/exec.ts';
import { misbehaving } from '../../../agents/installed.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { AgentMachine } from '../../helpers/agent-machine.ts';

const skill = '---\nname: review\ndescription: >\n  Reviews changes\n  carefully.\n---\nBe kind.\n';
const script = '#!/bin/sh\ngit diff\n';
const skills = { review: { 'SKILL.md': skill, 'scripts/changes.sh': script } };
const instructions = 'Be brief.\n';

interface Report {
  prompt: string;
  files: Record<string, { text: string; mode: number }>;
}

/** A service on a machine where the program of an agent of the registry reports its prompt and its files. */
async function machineWith(program: string): Promise<AgentMachine> {
  const folder = await temporaryDirectory();
  const file = path.join(folder, program);
  await writeFile(file, `#!/bin/sh\nexec ${misbehaving('prompt').join(' ')}\n`);
  await chmod(file, 0o755);
  return await AgentMachine.start({ commandPath: [folder, path.dirname(process.execPath), systemPath].join(':') });
}

async function reportOf(machine: AgentMachine, run: Run): Promise<Report> {
  expect(run).toMatchObject({ status: 'completed', error: null });
  return JSON.parse((await machine.texts(run)).at(-1) as string) as Report;
}

describe('an agent that reads instructions and skills from its HOME', () => {
  it('finds them there, and not in its prompt', async () => {
    const machine = await machineWith('codex-acp');
    const run = await machine.run({ acp: 'codex', instructions, skills }, 'Hello');
    expect(await reportOf(machine, run)).toEqual({
      prompt: 'Hello',
      files: {
        '.agents/skills/review/SKILL.md': { text: skill, mode: 0o600 },
        '.agents/skills/review/scripts/changes.sh': { text: script, mode: 0o700 },
        '.codex/AGENTS.md': { text: instructions, mode: 0o600 },
      },
    });
  });

  it('has no further files without instructions and skills', async () => {
    const machine = await machineWith('codex-acp');
    expect(await reportOf(machine, await machine.run({ acp: 'codex' }, 'Hello'))).toEqual({ prompt: 'Hello', files: {} });
  });

  it('gets them in its prompt if a variable moves the folder that it reads', async () => {
    const machine = await machineWith('codex-acp');
    const run = await machine.run({ acp: 'codex', instructions, environment: { CODEX_HOME: '/somewhere' } }, 'Hello');
    expect(await reportOf(machine, run)).toEqual({ prompt: '<instructions>\nBe brief.\n</instructions>\n\nHello', files: {} });
  });

  it('still has them in its next process, even if it changed them', async () => {
    const machine = await machineWith('codex-acp');
    const run = await machine.run({ acp: 'codex', instructions }, 'Hello');
    await writeFile(path.join(machine.home(run), '.codex/AGENTS.md'), 'Do whatever you like.');
    const next = await reportOf(machine, await machine.send(run, 'Again'));
    expect(next).toEqual({ prompt: 'Again', files: { '.codex/AGENTS.md': { text: instructions, mode: 0o600 } } });
  });
});

describe('an agent that reads another file of a project than AGENTS.md', () => {
  const start = async (machine: AgentMachine, files: Record<string, string>, fields: object = {}): Promise<Report> => {
    const run = await machine.run({ acp: 'claude', ...fields }, 'Hello');
    for (const [name, text] of Object.entries(files)) await writeFile(machine.file(run, name), text);
    return await reportOf(machine, await machine.send(run, 'Again'));
  };

  it('gets a copy of that of the project after its own instructions', async () => {
    const { files } = await start(await machineWith('claude-agent-acp'), { 'AGENTS.md': 'Use tabs.\n' }, { instructions });
    expect(files['.claude/CLAUDE.md']?.text).toBe('Be brief.\n\nThis is the file AGENTS.md of the project:\n\nUse tabs.\n');
  });

  it('gets no copy if the project has its own file', async () => {
    const machine = await machineWith('claude-agent-acp');
    expect((await start(machine, { 'AGENTS.md': 'Use tabs.\n', 'CLAUDE.md': '@AGENTS.md\n' })).files).toEqual({});
  });
});

describe('an agent that is not known to read instructions', () => {
  it('gets them in the first prompt of its session, with the paths of its skills', async () => {
    const machine = await AgentMachine.start();
    const run = await machine.run({ command: misbehaving('prompt'), instructions, skills }, 'Hello');
    const { prompt, files } = await reportOf(machine, run);
    const file = path.join(machine.home(run), '.agents/skills/review/SKILL.md');
    expect(prompt.split('\n')).toEqual([
      ...['<instructions>', 'Be brief.', '</instructions>', ''],
      '<skills>',
      'Skills explain how to do something. When the description of one fits your task, read its file before you begin:',
      `- review: Reviews changes carefully. (${file})`,
      ...['</skills>', '', 'Hello'],
    ]);
    expect(Object.keys(files)).toEqual(['.agents/skills/review/SKILL.md', '.agents/skills/review/scripts/changes.sh']);
    expect((await reportOf(machine, await machine.send(run, 'Again'))).prompt).toBe('Again');
  });
});
