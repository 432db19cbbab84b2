/** The agents made by others do what the runtime relies on: they require a permission, and respect the answer. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { RequestPermissionRequest } from '@agentclientprotocol/sdk';
import { expect, it } from 'vitest';
import { AcpClient } from '../support/acp-client.ts';
import { eventually } from '../support/eventually.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../support/temporary.ts';
import { example, modelAgents, modelKey } from './installed.ts';
import { ModelServer, steps } from './model-server.ts';
import { recording, transcriptOf, writeTranscript } from './transcript.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

/** What a message of an agent is, such as `session/update tool_call`. */
function kindOf(message: Record<string, unknown>): string {
  const update = (message.params as { update?: { sessionUpdate: string } } | undefined)?.update;
  return `${message.method ?? 'response'} ${update?.sessionUpdate ?? ''}`.trim();
}

/** What a permission is about. */
const subjectOf = (request: RequestPermissionRequest | undefined) => {
  const { title, kind, rawInput, locations } = request?.toolCall ?? {};
  return { title, kind, rawInput, locations };
};

const kindsOf = (messages: Record<string, unknown>[]): string[] => [...new Set(messages.map(kindOf))].sort();

for (const agent of modelAgents) {
  describeNeeding(agent.missing, agent.name, () => {
    it(
      'requires a permission to write a file, writes it only if that is granted, and asks again if it is killed in the meantime',
      async () => {
        const model = await ModelServer.start(steps({ write: 'hello.txt', content: 'Hello\nworld\n' }, { say: 'I wrote the file.' }));
        afterTest(() => model.close());
        const folder = await temporaryDirectory();
        const start = () => AcpClient.start(agent.command, agent.environment(model.url), folder);
        const client = await start();
        const file = path.join(client.workspace, 'hello.txt');

        const { protocolVersion, agentInfo } = await client.initialize();
        expect(protocolVersion).toBe(1);
        expect(agentInfo?.version).toMatch(/^\d+\.\d+\.\d+$/);
        const { sessionId } = await client.open(agent);

        const rejection = await client.prompt('Write the file hello.txt.');
        expect(rejection.stopReason).toBe(agent.endsTurnOnRejection === true ? 'cancelled' : 'end_turn');
        expect(client.permissions).toHaveLength(1);
        expect(existsSync(file)).toBe(false);

        client.decide = () => 'allow_once';
        expect((await client.prompt('Write the file hello.txt after all.')).stopReason).toBe('end_turn');
        expect(client.permissions).toHaveLength(2);
        expect(await readFile(file, 'utf8')).toBe('Hello\nworld\n');
        expect(client.text).toContain('I wrote the file.');

        expect(model.turns.at(-1)).toMatchObject({ prompt: 'Write the file hello.txt after all.', results: [expect.any(String)] });
        expect(JSON.stringify(model.requests.at(-1)?.headers)).toContain(modelKey);

        const messages = client.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
        if (recording) {
          writeTranscript(agent.name, client.lines, {
            [client.workspace]: '/workspace',
            [client.home]: '/home/agent',
            [model.url]: 'http://model',
          });
        }
        expect(kindsOf(messages)).toEqual(kindsOf(transcriptOf(agent.name)));

        const other = path.join(client.workspace, 'other.txt');
        model.script = steps({ write: 'other.txt', content: 'Other\n' }, { say: 'I wrote the other file.' });
        await new Promise<void>((resolve) => {
          client.decide = () => {
            resolve();
            return new Promise(() => undefined);
          };
          // The end of the process ends the connection.
          client.prompt('Write the file other.txt.').catch(() => undefined);
        });
        expect(client.permissions).toHaveLength(3);
        await eventually('the session is stored', () => agent.hasStored?.(client.home, sessionId, 'other.txt') ?? true);
        await client.kill();
        expect(existsSync(other)).toBe(false);
        await agent.letContinue?.(client.home, sessionId);

        const nextClient = await start();
        nextClient.decide = () => 'allow_once';
        const { agentCapabilities } = await nextClient.initialize();
        const way = agentCapabilities?.sessionCapabilities?.resume ? 'resume' : 'load';
        await nextClient.continue(sessionId, way, agent);
        expect(nextClient.permissions).toEqual([]);
        expect((await nextClient.prompt('Continue.')).stopReason).toBe('end_turn');

        expect(nextClient.permissions).toHaveLength(1);
        expect(subjectOf(nextClient.permissions[0])).toEqual(subjectOf(client.permissions[2]));
        expect(await readFile(other, 'utf8')).toBe('Other\n');
        // Gemini forgets a turn in which a permission was rejected.
        expect(model.turns.at(-1)?.prompts.join(' ')).toMatch(
          /^Write the file hello\.txt( after all)?\.\s[\s\S]*Write the file other\.txt\.\s[\s\S]*Continue\.$/,
        );
      },
      startLimit,
    );
  });
}

describeNeeding(example.missing, 'the example agent', () => {
  it('requires a permission and completes its turn', async () => {
    const client = await AcpClient.start(example.command, {}, await temporaryDirectory());
    client.decide = () => 'allow_once';
    await client.initialize();
    await client.open();
    expect((await client.prompt('Hello')).stopReason).toBe('end_turn');
    expect(client.permissions).toHaveLength(1);
    expect(client.text).toContain('The changes have been applied.');
    if (recording) writeTranscript('example', client.lines, { [client.workspace]: '/workspace' });
    expect(kindsOf(client.lines.map((line) => JSON.parse(line)))).toEqual(kindsOf(transcriptOf('example')));
  });
});
