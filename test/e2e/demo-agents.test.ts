/** The example with the failing test, with agents made by others. */
import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { agentPrograms, claude, codex, gemini } from '../agents/installed.ts';
import { ModelServer, steps } from '../agents/model-server.ts';
import { cleanEnvironment } from '../support/clean-environment.ts';
import { codeCache, project } from '../support/machine.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest, temporaryFolder } from '../support/temporary.ts';

const mistake = { edit: 'src/shipping.js', from: '  return total > freeFrom ? 0 : 490;\n', to: '  return total >= freeFrom ? 0 : 490;\n' };

for (const agent of [claude, codex, gemini]) {
  describeNeeding(agent.missing, `the example with ${agent.name}`, () => {
    it('fixes the failing test, after it was permitted to run the tests and to change the file', async () => {
      const work = steps({ run: 'node --test' }, { read: mistake.edit }, mistake, { run: 'node --test' }, { say: 'The test passes now.' });
      const model = await ModelServer.start(work);
      afterTest(() => model.close());
      const folder = await temporaryFolder();
      const env = {
        ...cleanEnvironment(),
        NODE_COMPILE_CACHE: codeCache,
        ...agent.environment(model.url),
        // Codex does not read it, but the example permits connections to its host.
        OPENAI_BASE_URL: model.url,
        PATH: `${agentPrograms}${path.delimiter}${process.env.PATH}`,
        TMPDIR: folder,
        CI: 'true',
      };
      const child = spawn(process.execPath, [path.join(project, 'examples/failing-test/demo.js'), agent.name], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const output = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (chunk: string) => {
          output[name] += chunk;
        });
      const code = await new Promise((resolve) => child.once('close', resolve));
      expect(code, output.stdout + output.stderr).toBe(0);
      expect(output.stdout.match(/^› Approved: /gm)?.length, output.stdout).toBeGreaterThanOrEqual(2);
      expect(output.stdout).toContain('The test passes now.');
      expect(output.stdout).toMatch(/^Files\tsrc\/shipping\.js\n# pass 4\n# fail 0$/m);
      expect(await readdir(folder)).toEqual([]);
    });
  });
}
