import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { webhookEventKinds } from '../../../../src/interface/webhook-events.ts';
import { sampleEventData } from '../../../../src/interface/webhook-samples.ts';
import { chatMessage } from '../../../../src/service/engine/webhooks/chat/message.ts';
import { escapedText, slackBody } from '../../../../src/service/engine/webhooks/chat/slack.ts';
import { teamsBody } from '../../../../src/service/engine/webhooks/chat/teams.ts';

const link = 'https://agents.example.com/open/abc.def';
const source = { teamId: randomUUID(), now: '2026-11-20T13:30:52.236Z', newId: randomUUID };
const hostile = '<!channel> <@U1> [pay](https://evil.test) <https://evil.test|Open> *b* & \u202egpj\u0007';
const request = (fields: object) => ({
  type: 'human_request.created',
  data: { run_id: 'r', agent_id: 'a', human_request: { id: 'q', title: 'Pay?', description: null, type: 'approval', ...fields } },
});

/** All texts of a value, with the member that contains each. */
const texts = (value: unknown, name = ''): [string, string][] =>
  typeof value === 'string'
    ? [[name, value]]
    : Object.entries((value ?? {}) as object).flatMap(([member, inner]) => texts(inner, Array.isArray(value) ? name : member));

describe('a message', () => {
  it.each(webhookEventKinds)('says in words what %s means, and within the limits of both programs', (type) => {
    const message = chatMessage({ type, test: true, data: sampleEventData(type, source) });
    expect(message.title).toMatch(/^Test: [A-Z]/);
    expect(message.title).not.toMatch(/undefined|\[object/);
    expect(message.run === undefined).toBe(/queue|build|connection|webhook/.test(type));
  });

  it.each([{}, { type: 7, data: 'text' }])('of a payload without a kind is an event: %j', (payload) => {
    expect(chatMessage(payload)).toMatchObject({ title: 'event', run: undefined });
  });

  it('contains the question, its options, and a link to the request', () => {
    const questions = [{ question: 'Which account?', options: [{ label: 'A' }, { label: 'B' }] }, { question: 'Why?' }];
    const message = chatMessage(request({ type: 'question', title: 'Details', description: 'For the invoice', questions }));
    expect(message).toEqual({
      title: 'Question: Details',
      text: 'For the invoice\nWhich account? (A, B)\nWhy?',
      facts: [['Run', 'r']],
      run: { id: 'r', requestId: 'q' },
      linkLabel: 'Open the request',
    });
    const reminder = chatMessage({ ...request({}), type: 'human_request.reminder' });
    expect(reminder).toMatchObject({
      title: 'Still waiting: Approval needed: Pay?',
      run: { requestId: 'q' },
      linkLabel: 'Open the request',
    });
    const data = { run_id: 'r', human_request: { id: 'q', title: 'Pay?', response: 'approved', responded_at: 'x' } };
    const answered = chatMessage({ type: 'human_request.responded', data });
    expect(answered).toMatchObject({ title: 'Answered: Pay?', text: 'approved', linkLabel: 'Open the run' });
  });

  it('of another webhook contains only the host of its address, because the rest can be a secret', () => {
    const webhook = { url: 'https://hooks.slack.com/services/T0/B0/secret', description: null, disabled_reason: 'gone' };
    const message = chatMessage({ type: 'webhook.disabled', data: { webhook } });
    expect(JSON.stringify(message)).toContain('hooks.slack.com');
    expect(JSON.stringify(message)).not.toContain('secret');
  });

  it('survives data of any form', () => {
    for (const data of [null, 1, [], { run: 1, human_request: [] }, { human_request: { title: {} } }])
      for (const type of [...webhookEventKinds, 'future.kind', 7]) {
        const message = chatMessage({ type, data } as never);
        expect(message.title).not.toBe('');
        expect(() => [slackBody(message, link), teamsBody(message, link)]).not.toThrow();
      }
  });
});

describe('the body for Slack', () => {
  it('has no empty text, which Slack refuses', () => {
    const body = slackBody(chatMessage({ type: 'run.message.created', data: { run_id: 'r', message: { text_content: ' \n' } } }), link);
    expect(texts(body).filter(([, text]) => text === '')).toEqual([]);
  });

  it('has no mention, link, or formatting from an event, only the link to the page', () => {
    const body = slackBody(chatMessage(request({ title: hostile, description: hostile })), link);
    for (const [name, text] of texts(body)) {
      if (text === `<${link}|Open the request>`) continue;
      expect(text, name).not.toMatch(/[<>\u202e]/);
      expect(text, name).not.toContain('\u0007');
      expect(text.replaceAll(/&(amp|lt|gt);/g, ''), name).not.toContain('&');
    }
    expect(body).toMatchObject({
      mrkdwn: false,
      unfurl_links: false,
      blocks: [{ type: 'header', text: { type: 'plain_text' } }, {}, {}, {}],
    });
    expect(JSON.stringify(body).match(/"mrkdwn",/g)).toHaveLength(1);
    // Otherwise Slack would turn names and addresses in the label into links.
    expect(JSON.stringify(body)).toContain(`{"type":"mrkdwn","text":"<${link}|Open the request>","verbatim":true}`);
  });

  it('is cut to what Slack accepts, without cutting an entity or a character in half', () => {
    const body = slackBody(chatMessage(request({ title: '<'.repeat(400), description: '&😀'.repeat(9_000) })), link) as {
      blocks: { text: { text: string } }[];
    };
    expect(body.blocks[0]?.text.text.length).toBeLessThanOrEqual(150);
    expect(body.blocks[0]?.text.text).toMatch(/^Approval needed: (&lt;)+…$/);
    expect(body.blocks[1]?.text.text.length).toBeLessThanOrEqual(3_000);
    expect(body.blocks[1]?.text.text).toMatch(/^(&amp;😀)+(&amp;)?…$/u);
    expect(escapedText('a&b', 7)).toBe('a&amp;b');
    expect(escapedText('a&b', 6)).toBe('a…');
  });
});

describe('the body for Teams', () => {
  it('has all texts of an event in elements without Markdown', () => {
    const body = teamsBody(chatMessage(request({ title: hostile, description: `${hostile}\n\nmore` })), link) as {
      attachments: { content: { body: { type: string; inlines: object[] }[]; actions: object[] } }[];
    };
    const { body: elements, actions } = body.attachments[0]?.content ?? { body: [], actions: [] };
    expect(elements).toHaveLength(4);
    for (const { type, inlines } of elements) {
      expect(type).toBe('RichTextBlock');
      expect(inlines).toEqual([expect.objectContaining({ type: 'TextRun', text: expect.not.stringContaining('\u202e') })]);
    }
    expect(actions).toEqual([{ type: 'Action.OpenUrl', title: 'Open the request', url: link }]);
  });

  it('is smaller than the 28 KB that Teams accepts', () => {
    const long = '漢'.repeat(50_000);
    const options = Array.from({ length: 50 }, () => ({ label: long }));
    const message = chatMessage(request({ title: long, description: long, type: 'question', questions: [{ question: long, options }] }));
    expect(Buffer.byteLength(JSON.stringify(teamsBody(message, link)))).toBeLessThan(20_000);
  });
});
