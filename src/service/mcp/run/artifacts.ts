/** Tools for pages that show data of the team to people. The agent describes them, and does not see the data. */
import Type from 'typebox';
import { Closed, Uuid } from '../../../interface/schemas/common.ts';
import type { RunArtifact } from '../../runtimes/run-host.ts';
import { change, defineRunTool, onOneLine, read } from './tool.ts';

const artifactId = Type.String({ ...Uuid, description: 'ID of the artifact, from create_artifact' });
const message = (description: string) => Type.String({ minLength: 1, maxLength: 10_000, description });

export const artifactTools = [
  defineRunTool({
    name: 'create_artifact',
    title: 'Create an artifact',
    description:
      'Creates a page for the people of the team with figures about runs, human requests, cases, webhook deliveries, agents, or usage. The page is generated from your description; check the outcome with get_artifact. You cannot see the figures.',
    input: Closed({
      message: message(
        'What the page shows, such as: title "The week"; runs of the last 7 days by status; pending cases of queue "invoices"',
      ),
    }),
    readOnly: false,
    async run(call, args) {
      const notice = `The agent created an artifact: ${onOneLine(args.message)}`;
      const result = await change(call, { tool: 'create_artifact', args, action: { do: 'create_artifact', ...args }, notice });
      return { structured: { artifact: result }, text: `Created artifact ${String(result.id)}. Check the outcome with get_artifact.` };
    },
  }),
  defineRunTool({
    name: 'change_artifact',
    title: 'Change an artifact',
    description: 'Changes a page that a run of this agent created. What the message does not mention stays the same.',
    input: Closed({ artifact_id: artifactId, message: message('The change, such as: add usage; turn the first into a table; remove 2') }),
    readOnly: false,
    async run(call, args) {
      const notice = `The agent changed an artifact: ${onOneLine(args.message)}`;
      const action = { do: 'change_artifact', id: args.artifact_id, message: args.message } as const;
      const result = await change(call, { tool: 'change_artifact', args, action, notice });
      return { structured: { artifact: result }, text: `Changing artifact ${String(result.id)}. Check the outcome with get_artifact.` };
    },
  }),
  defineRunTool({
    name: 'get_artifact',
    title: 'Get an artifact',
    description: 'Returns whether a page that a run of this agent created has been generated, and what the generator replied.',
    input: Closed({ artifact_id: artifactId }),
    readOnly: true,
    async run(call, { artifact_id: id }) {
      const artifact = await read(call, (host) => host.tools.artifact(id));
      return { structured: { artifact }, text: describeArtifact(artifact) };
    },
  }),
];

function describeArtifact({ id, title, status, reply, questions }: RunArtifact): string {
  const name = title === null ? id : `${id} (${title})`;
  if (questions.length > 0)
    return `The description of artifact ${name} is ambiguous:\n${questions.join('\n')}\nDescribe it more precisely with change_artifact.`;
  return [`Artifact ${name} is ${status}.`, ...(reply === null ? [] : [reply])].join('\n');
}
