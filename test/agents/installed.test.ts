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
      'requires a permission to write a file, and writes it only if that is granted',
      async () => {
        const model = await ModelServer.start(steps({ write: 'hello.txt', content: 'Hello\nworld\n' }, { say: 'I wrote the file.' }));
        afterTest(() => model.close());
        const client = await AcpClient.start(agent.command, agent.environment(model.url), await temporaryDirectory());
        const file = path.join(client.workspace, 'hello.txt');

        const { protocolVersion, agentInfo } = await client.initialize();
        expect(protocolVersion).toBe(1);
        expect(agentInfo?.version).toMatch(/^\d+\.\d+\.\d+$/);
        await client.open(agent);

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
      },
      startLimit,
    );

    it(
      'asks again for the permission that was open when it was killed, once its session continues',
      async () => {
        const model = await ModelServer.start(steps({ write: 'hello.txt', content: 'Hello\nworld\n' }, { say: 'I wrote the file.' }));
        afterTest(() => model.close());
        const folder = await temporaryDirectory();
        const start = () => AcpClient.start(agent.command, agent.environment(model.url), folder);

        const killedClient = await start();
        await killedClient.initialize();
        const { sessionId } = await killedClient.open(agent);
        await new Promise<void>((resolve) => {
          killedClient.decide = () => {
            resolve();
            return new Promise(() => undefined);
          };
          // The end of the process ends the connection.
          killedClient.prompt('Write the file hello.txt.').catch(() => undefined);
        });
        await eventually('the session is stored', () => agent.hasStored?.(killedClient.home, sessionId) ?? true);
        await killedClient.kill();
        await agent.letContinue?.(killedClient.home, sessionId);

        const client = await start();
        client.decide = () => 'allow_once';
        const { agentCapabilities } = await client.initialize();
        const way = agentCapabilities?.sessionCapabilities?.resume ? 'resume' : 'load';
        await client.continue(sessionId, way, agent);
        expect(client.permissions).toEqual([]);
        expect((await client.prompt('Continue.')).stopReason).toBe('end_turn');

        expect(client.permissions).toHaveLength(1);
        expect(subjectOf(client.permissions[0])).toEqual(subjectOf(killedClient.permissions[0]));
        expect(await readFile(path.join(client.workspace, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        expect(model.turns.at(-1)?.prompts.join(' ')).toMatch(/^Write the file hello\.txt\.\s[\s\S]*Continue\.$/);
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
