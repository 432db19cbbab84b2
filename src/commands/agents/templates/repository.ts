/** An agent that is a program and works on a git repository. */
import { shellWord } from '../../../base/shell.ts';
import { createCommand, definition, secretAdvice, testCommand, testFileHead } from './program.ts';
import type { Template, TemplateInput } from './template.ts';

const instructions = `# Instructions

You fix failing tests in a git repository.

- Run the tests with \`node --test\` before and after your change.
- Change the code, never the tests.
- Make the smallest change that works, and do not commit it.
- Answer with one sentence that explains the cause.
`;

const source = `/** The sum of the numbers in a list. */
export function sum(numbers) {
  return numbers.reduce((total, number) => total - number, 0);
}
`;

const sourceTest = `import assert from 'node:assert/strict';
import test from 'node:test';
import { sum } from './sum.js';

test('adds the numbers', () => {
  assert.equal(sum([1, 2, 3]), 6);
});
`;

const message = 'The test of sum.js fails. Fix it.';

const tests = (name: string): string => `${testFileHead(name)}  - name: fixes the code and leaves the test alone
    message: ${message}
    repository: fixture
    approvals:
      "*": true
    expect:
      files:
        sum.js: { contains: "total + number" }
        sum.test.js: { same_as: fixture/sum.test.js }

  - name: changes nothing without approval
    message: ${message}
    repository: fixture
    approvals:
      "*": false
    expect:
      files:
        sum.js: { same_as: fixture/sum.js }
`;

const readme = (input: TemplateInput): string => `# ${input.name}

An agent that fixes failing tests in a git repository. [agent.yaml](agent.yaml) says how its program is started, and
[AGENTS.md](AGENTS.md) what it is for. It works on a copy of the repository, on a branch of its own, and asks for approval
before it acts.

Test it, without a running service. Each test turns the folder fixture into a temporary repository:

\`\`\`sh
${testCommand(input)}
\`\`\`

Try it on a repository with a failing test:

\`\`\`sh
cp -R fixture practice
git -C practice init --quiet
git -C practice add .
git -C practice commit --quiet --message 'Add a failing test'
aops local up
${createCommand(input)}
aops runs start --agent ${shellWord(input.name)} --repo practice --message '${message}' --watch
\`\`\`

Look at the changes, and apply them to your repository:

\`\`\`sh
aops sandbox diff @latest
aops sandbox apply @latest --to practice
\`\`\`

${secretAdvice(input)}For your own repository, specify its folder instead of practice.
`;

export const repository: Template = {
  summary: 'a program that works on a git repository',
  needsProgram: true,
  files: (input) => ({
    'agent.yaml': definition(input),
    'AGENTS.md': instructions,
    'agent.test.yaml': tests(input.name),
    'fixture/package.json': '{ "type": "module", "private": true }\n',
    'fixture/sum.js': source,
    'fixture/sum.test.js': sourceTest,
    'README.md': readme(input),
  }),
  next: (input) => [testCommand(input), 'aops local up', createCommand(input)],
};
