/** `aops agents edit` on a real terminal, with editors that are scripts. */
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { misbehaving } from '../agents/installed.ts';
import { Machine } from '../support/machine.ts';
import { keys, type Screen } from '../support/screen.ts';

const procedure = (text: string): string => `version: 1\nsteps:\n  - say: ${text}\n`;

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  await machine.json('local', 'up', '--ephemeral');
});

/** An editor whose first call executes the first of these shell commands, with the file as $1, and so on. */
async function editor(...steps: string[]): Promise<void> {
  const count = path.join(machine.folder, 'editor-count');
  await writeFile(count, '0');
  const cases = steps.map((step, index) => `${index + 1}) ${step} ;;`).join('\n');
  const script = `#!/bin/sh\nn=$(($(cat '${count}') + 1))\necho $n > '${count}'\ncase $n in\n${cases}\n*) exit 9 ;;\nesac\n`;
  machine.env.EDITOR = await machine.file('bin/scripted-editor', script);
  await chmod(machine.env.EDITOR, 0o755);
}

/** A shell command that writes this text. */
const writes = (text: string): string => `printf '%s' ${`'${text.replaceAll("'", "'\\''")}'`} > "$1"`;

const textOf = async (revision: string): Promise<string> => {
  const { config } = await machine.hereJson<{ config: { data: { input: string } } }>('revisions', 'get', revision);
  return config.data.input;
};
const live = async (agent: string): Promise<string> => textOf(`${agent}@live`);
const unsent = async (): Promise<string[]> => readdir(path.join(machine.folder, 'data/unsent')).catch(() => []);

/** Waits for a question that is answered with yes or no. */
async function asks(screen: Screen, question: string): Promise<void> {
  await screen.shows(question);
  await screen.shows(/\([yY]\/[nN]\)/);
}

let agent: string;
let agents = 0;
beforeEach(async () => {
  agents += 1;
  agent = `agent-${agents}`;
  const file = await machine.file('procedure.yaml', procedure('one'));
  await machine.hereJson('agents', 'create', agent, '--procedure', file);
});

describe('agents edit', () => {
  it('saves a draft, and makes it live only if the user agrees', async () => {
    await editor(writes(procedure('two')), writes(procedure('three')));
    const first = machine.terminal('agents', 'edit', agent);
    await asks(first, 'Make revision 2 live, so that new runs use it?');
    first.type(keys.enter);
    await first.shows(`aops revisions promote ${agent}@2`);
    expect(await first.exit).toBe(0);
    expect(await live(agent)).toBe(procedure('one'));
    const second = machine.terminal('agents', 'edit', agent, '--from', 'latest');
    await asks(second, 'Make revision 3 live, so that new runs use it?');
    second.type('y', keys.enter);
    expect(await second.exit).toBe(0);
    expect(await live(agent)).toBe(procedure('three'));
    expect(await unsent()).toEqual([]);
  });

  it('does nothing if the text stays the same, apart from the end of its last line', async () => {
    for (const step of ['true', `${writes(procedure('one').trimEnd())}`]) {
      await editor(step);
      const screen = machine.terminal('agents', 'edit', agent);
      await screen.shows('No changes.');
      expect(await screen.exit).toBe(0);
    }
    expect((await machine.hereJson<{ total: number }>('revisions', 'list', agent)).total).toBe(1);
    expect(await unsent()).toEqual([]);
  });

  it('shows the line of an error, and opens the same text again', async () => {
    const broken = 'version: 1\nsteps:\n  - aks: hi\n';
    await editor(writes(broken), `sed -i.old 's/aks: hi/say: fixed/' "$1" && rm "$1.old"`);
    const screen = machine.terminal('agents', 'edit', agent, '--promote');
    await screen.shows('line 3, column 5: unknown step `aks`');
    await screen.shows('    3 |   - aks: hi\n            ^');
    await asks(screen, 'Edit it again?');
    screen.type(keys.enter);
    await screen.shows('Saved as revision 2');
    expect(await screen.exit).toBe(0);
    expect(await live(agent)).toBe(procedure('fixed'));
    expect(await unsent()).toEqual([]);
  });

  it('leaves the text in a file if the user gives up', async () => {
    const broken = 'version: 1\nsteps:\n  - aks: hi\n';
    await editor(writes(broken));
    const screen = machine.terminal('agents', 'edit', agent);
    await asks(screen, 'Edit it again?');
    screen.type('n', keys.enter);
    await screen.shows('Your text is in ');
    await screen.shows(`aops agents update ${agent} --procedure`);
    expect(await screen.exit).toBe(2);
    const [name = ''] = await unsent();
    const file = path.join(machine.folder, 'data/unsent', name);
    expect(await readFile(file, 'utf8')).toBe(broken);
    await rm(file);
  });

  it('asks before it saves a text that does not contain what another client has changed', async () => {
    const other = await machine.file('other.yaml', procedure('other'));
    await editor(`aops agents update ${agent} --procedure '${other}' > /dev/null; ${writes(procedure('mine'))}`);
    const refused = machine.terminal('agents', 'edit', agent, '--promote');
    await refused.shows('Revision 2 was created while you were editing.');
    await asks(refused, 'Save your text as another revision nevertheless?');
    refused.type(keys.enter);
    await refused.shows('Your text is in ');
    expect(await refused.exit).toBe(6);
    expect(await live(agent)).toBe(procedure('other'));
    await editor(
      `aops revisions update ${agent}@2 --procedure '${await machine.file('again.yaml', procedure('again'))}' > /dev/null; ${writes(procedure('mine'))}`,
    );
    const accepted = machine.terminal('agents', 'edit', agent, '--promote');
    await accepted.shows('Revision 2 was changed while you were editing.');
    await asks(accepted, 'Save your text as another revision nevertheless?');
    accepted.type('y', keys.enter);
    expect(await accepted.exit).toBe(0);
    expect(await live(agent)).toBe(procedure('mine'));
    await editor(`aops revisions promote ${agent}@2 > /dev/null; ${writes(procedure('later'))}`);
    const last = machine.terminal('agents', 'edit', agent, '--promote');
    await last.shows('Revision 2 was made live while you were editing.');
    await asks(last, 'Save your text as another revision nevertheless?');
    last.type('n', keys.enter);
    expect(await last.exit).toBe(6);
    expect(await live(agent)).toBe(procedure('again'));
  });

  it('leaves the text in a file if the editor fails, and says if there is no editor', async () => {
    const before = (await unsent()).length;
    await editor(`${writes(procedure('kept'))}; exit 3`);
    const failing = machine.terminal('agents', 'edit', agent);
    await failing.shows('Your text is in ');
    await failing.shows('failed (exit code 3).');
    expect(await failing.exit).toBe(1);
    expect(await unsent()).toHaveLength(before + 1);
    machine.env.EDITOR = 'no-such-editor';
    const missing = machine.terminal('agents', 'edit', agent);
    await missing.shows('The editor `no-such-editor` was not found.');
    expect(await missing.exit).toBe(1);
    expect(await unsent()).toHaveLength(before + 1);
  });

  it('edits only the instructions of a program, and keeps the rest of its definition', async () => {
    const definition = `# A comment\nversion: 1\ncommand: [ ${misbehaving('text')
      .map((word) => JSON.stringify(word))
      .join(', ')} ]\ninstructions: |\n  Be brief.\ntimeout: 5m\n`;
    await machine.json(
      'agents',
      'create',
      `${agent}-program`,
      '--runtime',
      'acp',
      '--procedure',
      await machine.file('agent.yaml', definition),
    );
    await editor(writes('Be kind.\n'));
    const screen = machine.terminal('agents', 'edit', `${agent}-program`, '--instructions', '--promote');
    await screen.shows('Saved as revision 2');
    expect(await screen.exit).toBe(0);
    expect(await live(`${agent}-program`)).toBe(definition.replace('Be brief.', 'Be kind.'));
    const refusal = machine.terminal('agents', 'edit', agent, '--instructions');
    await refusal.shows('is not a program, and only programs have instructions');
    expect(await refusal.exit).toBe(2);
  });

  it('needs a terminal', async () => {
    const result = await machine.aops('agents', 'edit', agent);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(`aops agents update ${agent} --procedure FILE`);
  });
});
