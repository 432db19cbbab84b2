/** An agent that is a program. */

import { shellWord } from '../../../base/shell.ts';
import { createCommand, definition, secretAdvice, testCommand, testFileHead } from './program.ts';
import type { Template, TemplateInput } from './template.ts';

const instructions = `# Instructions

You write short notes.

- Write every note into a file in the current folder, with the name that you are asked for.
- Change no other files, and run no commands.
- Answer with one sentence that names the file.
`;

const tests = (
  name: string,
): string => `${testFileHead(name)}  # The texts of a model differ, so these tests expect files instead of messages.
  - name: writes the file that it is asked for
    message: Create the file result.txt. Its only content is the word hello.
    approvals:
      "*": true
    expect:
      files:
        result.txt: { contains: hello }

  - name: writes nothing without approval
    message: Create the file result.txt. Its only content is the word hello.
    approvals:
      "*": false
    expect:
      files:
        result.txt: { absent: true }
`;

const readme = (input: TemplateInput): string => `# ${input.name}

An agent that is a program: [agent.yaml](agent.yaml) says how it is started, and [AGENTS.md](AGENTS.md) what it is for.
It asks for approval before it acts.

Test it, without a running service:

\`\`\`sh
${testCommand(input)}
\`\`\`

Run it on the local service. The run waits for your answers:

\`\`\`sh
aops local up
${createCommand(input)}
aops runs start --agent ${shellWord(input.name)} --message 'Create the file result.txt. Its only content is the word hello.' --watch
aops sandbox cat @latest result.txt
\`\`\`

${secretAdvice(input)}Change its instructions in your editor with \`aops agents edit ${shellWord(input.name)} --instructions\`.
`;

export const acp: Template = {
  summary: 'a program, such as Claude Code, that speaks the Agent Client Protocol',
  needsProgram: true,
  files: (input) => ({
    'agent.yaml': definition(input),
    'AGENTS.md': instructions,
    'agent.test.yaml': tests(input.name),
    'README.md': readme(input),
  }),
  next: (input) => [testCommand(input), 'aops local up', createCommand(input)],
};
