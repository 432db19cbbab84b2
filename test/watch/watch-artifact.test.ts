import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import type { Artifact, ArtifactMessage } from '../../src/interface/types.ts';
import { pointOf } from '../../src/watch/resume/token.ts';
import { type ArtifactEvent, type ArtifactStart, artifactStart, pendingQuestion, watchArtifact } from '../../src/watch/watch-artifact.ts';

const createdAt = '2026-07-18T09:00:00.000Z';
const textMessage = (id: string): ArtifactMessage =>
  ({ id, content: `Content of ${id}`, created_at: createdAt, message: { type: 'text' } }) as unknown as ArtifactMessage;
const questionMessage = (id: string, toolCallId: unknown = `call-${id}`, questions: unknown = [{ question: 'Which?' }]): ArtifactMessage =>
  ({ ...textMessage(id), message: { type: 'question', toolCallId, questions } }) as unknown as ArtifactMessage;

/** What one poll reads. */
type Poll = [status: string, messages: ArtifactMessage[]];

const watchPolls = (since: string | undefined, ...polls: Poll[]): Promise<ArtifactEvent[]> => watchFrom(artifactStart(since), ...polls);

async function watchFrom(start: ArtifactStart, ...polls: Poll[]): Promise<ArtifactEvent[]> {
  let poll = -1;
  const call = async (id: string, input: unknown): Promise<unknown> => {
    const params = { artifactId: 'a1' };
    expect(input).toEqual(id === 'getArtifact' ? { params } : { params, query: { limit: 100 } });
    if (id === 'getArtifact') poll += 1;
    const [status, data] = polls[poll] as Poll;
    return id === 'getArtifact' ? { artifact: { id: 'a1', status } } : { data };
  };
  const client = { call, onWaiting: () => () => undefined } as unknown as Client;
  const clock = { now: () => Date.parse(createdAt), sleep: async () => undefined };
  const events: ArtifactEvent[] = [];
  const options = { clock, signal: new AbortController().signal };
  for await (const event of watchArtifact(client, 'a1', start, options)) events.push(event);
  return events;
}

const inShort = ({ type, data }: ArtifactEvent): string => {
  if (type === 'artifact.status') return `${data.previous}>${data.status}`;
  if (type === 'artifact.message') return data.message.id;
  if (type === 'artifact.asking') return `?${data.questions.id}`;
  return type === 'artifact.answered' ? `!${data.tool_call_id}` : type;
};

describe('a generation', () => {
  it('is reported from its start to its end, each message once, in numbered events', async () => {
    const events = await watchPolls(
      undefined,
      ['not_started', [textMessage('m1')]],
      ['pending', [textMessage('m1')]],
      ['running', [textMessage('m1'), textMessage('m2')]],
      ['running', [textMessage('m1'), textMessage('m2'), textMessage('m3')]],
      ['completed', [textMessage('m1'), textMessage('m2'), textMessage('m3')]],
    );
    expect(events.map(inShort)).toEqual([
      'null>not_started',
      'not_started>pending',
      'pending>running',
      'm2',
      'm3',
      'running>completed',
      'artifact.finished',
    ]);
    expect(events[0]).toEqual({
      v: 1,
      seq: 1,
      type: 'artifact.status',
      artifact_id: 'a1',
      ts: createdAt,
      data: { status: 'not_started', previous: null },
      resume: expect.stringMatching(/^r1/),
    });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)?.data).toEqual({ artifact: { id: 'a1', status: 'completed' } });
  });

  it('begins after the message that started it', async () => {
    const messages = ['m1', 'm2', 'm3', 'm4'].map(textMessage);
    const eventsSince = async (since: string) => (await watchPolls(since, ['failed', messages])).map(inShort);
    expect(await eventsSince('m2')).toEqual(['null>failed', 'm3', 'm4', 'artifact.finished']);
    expect(await eventsSince('m4')).toEqual(['null>failed', 'artifact.finished']);
    expect(await eventsSince('unknown')).toEqual(['null>failed', 'm1', 'm2', 'm3', 'm4', 'artifact.finished']);
  });

  it('reports all messages after a position without messages', async () => {
    const [first] = await watchPolls(undefined, ['pending', []], ['completed', []]);
    const { seq, ...position } = pointOf(first?.resume as string, 'artifact', 'this artifact');
    const events = await watchFrom({ seq, position }, ['running', [textMessage('m1')]], ['completed', [textMessage('m1')]]);
    expect(events.map(inShort)).toEqual(['pending>running', 'm1', 'running>completed', 'artifact.finished']);
  });

  it('does not look for messages where the service has none, whatever it says', async () => {
    const call = async (id: string, { query }: { query?: { before?: string } }): Promise<unknown> =>
      id === 'getArtifact'
        ? { artifact: { id: 'a1', status: 'completed' } }
        : { data: query?.before === undefined ? [textMessage('m2')] : [], has_more: true };
    const client = { call, onWaiting: () => () => undefined } as unknown as Client;
    const clock = { now: () => 0, sleep: async () => undefined };
    const events: ArtifactEvent[] = [];
    const options = { clock, signal: new AbortController().signal };
    for await (const event of watchArtifact(client, 'a1', artifactStart('m1'), options)) events.push(event);
    expect(events.map(inShort)).toEqual(['null>completed', 'm2', 'artifact.finished']);
  });

  it('reports each question once, and its answer', async () => {
    const events = await watchPolls(
      undefined,
      ['running', [questionMessage('m1')]],
      ['running', [questionMessage('m1')]],
      ['running', [questionMessage('m1'), questionMessage('m2')]],
      ['running', [questionMessage('m1'), questionMessage('m2'), textMessage('m3')]],
      ['completed', [questionMessage('m1'), questionMessage('m2'), textMessage('m3')]],
    );
    expect(events.map(inShort)).toEqual([
      'null>running',
      '?call-m1',
      '!call-m1',
      'm2',
      '?call-m2',
      '!call-m2',
      'm3',
      'running>completed',
      'artifact.finished',
    ]);
  });
});

describe('the pending question of a generation', () => {
  const artifact = (status: string): Artifact => ({ id: 'a1', status }) as Artifact;

  it('is its last message', () => {
    for (const status of ['not_started', 'pending', 'running'])
      expect(pendingQuestion(artifact(status), [textMessage('m1'), questionMessage('m2')])).toEqual({
        id: 'call-m2',
        type: 'question',
        title: 'Content of m2',
        description: null,
        created_at: createdAt,
        questions: [{ question: 'Which?' }],
      });
  });

  it.each<[string, string, ArtifactMessage[]]>([
    ['the generation has ended', 'completed', [questionMessage('m1')]],
    ['the status is unknown', 'resting', [questionMessage('m1')]],
    ['there are no messages', 'running', []],
    ['another message follows', 'running', [questionMessage('m1'), textMessage('m2')]],
    [
      'the last message is of another type',
      'running',
      [{ ...questionMessage('m1'), message: { type: 'text', toolCallId: 'c', questions: [] } } as never],
    ],
    ['the last message has no body', 'running', [{ ...questionMessage('m1'), message: null } as never]],
    ['the ID of the question is missing', 'running', [questionMessage('m1', null)]],
    ['the questions are not a list', 'running', [questionMessage('m1', 'c', 'Which?')]],
  ])('is undefined when %s', (_, status, messages) => {
    expect(pendingQuestion(artifact(status), messages)).toBeUndefined();
  });
});
