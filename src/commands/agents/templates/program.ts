/** What the templates with programs have in common. */
import { shellWord } from '../../../base/shell.ts';
import type { TemplateInput, TemplateProgram } from './template.ts';

export const definition = ({ program }: TemplateInput): string => {
  const { line, secret } = program as TemplateProgram;
  return `# How the agent is started. Everything else that can be set is in docs/acp.md.
version: 1
${line}
${secret === undefined ? '' : `# Its value is stored with the agent, and never in this file.\nsecrets: [${secret}]\n`}`;
};

/** Without a value, the command prompts for the secret. */
const secretFlag = ({ program }: TemplateInput): string => (program?.secret === undefined ? '' : ` --secret ${program.secret}`);

export const testCommand = (input: TemplateInput): string => `aops agents test${secretFlag(input)}`;

export const createCommand = (input: TemplateInput): string =>
  `aops agents create ${shellWord(input.name)} --procedure agent.yaml --instructions AGENTS.md${secretFlag(input)}`;

/** The first lines of the file with the tests; the tests follow. */
export const testFileHead = (name: string): string => `# \`aops agents test\` runs these tests on a temporary service.
version: 1
agent:
  name: ${JSON.stringify(name)}
  procedure: agent.yaml
  instructions: AGENTS.md
tests:
`;

/** A paragraph about the secret; empty for a program without one. */
export const secretAdvice = ({ program }: TemplateInput): string =>
  program?.secret === undefined
    ? ''
    : `The commands prompt for ${program.secret}. In scripts, pass \`--secret ${program.secret}=@FILE\`, or \`=@-\` for standard input.\n\n`;
