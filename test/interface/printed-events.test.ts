/** The schema of printed events. Every command in a test is checked against it; see test/support/printed-events.ts. */
import { describe, expect, it } from 'vitest';
import { deliveryFields } from '../../src/commands/webhooks/received.ts';
import { openApiDocument } from '../../src/interface/openapi.ts';
import { ListenerEvent, PrintedEvent } from '../../src/interface/schemas/printed-events.ts';
import { checkPrintedEvents } from '../support/printed-events.ts';

const run = '9ea3d55e-31eb-4b55-9996-b6788b5d4108';
const event = {
  v: 1,
  seq: 3,
  type: 'run.status',
  run_id: run,
  ts: '2026-11-20T10:47:55.789Z',
  data: { status: 'waiting', previous: 'running' },
  resume: 'r1AQMB',
};
const check = (value: object, argv: string[] = ['runs', 'watch', run, '-o', 'ndjson']): void =>
  checkPrintedEvents(argv, `${JSON.stringify(value)}\n`);

describe('the schema of printed events', () => {
  it('accepts an event, also with members that a later version adds', () => {
    expect(() => check(event)).not.toThrow();
    expect(() => check({ ...event, run_number: 7, data: { ...event.data, reason: 'new' } })).not.toThrow();
  });

  it.each([
    ...Object.keys(event).map((name) => ({ ...event, [name]: undefined })),
    { ...event, v: 2 },
    { ...event, seq: 0 },
    { ...event, type: 'run.renamed' },
    { ...event, data: { status: 'waiting' } },
    { ...event, resume: 'token' },
    { status: 'waiting' },
  ])('rejects %j', (value) => {
    expect(() => check(value)).toThrow('does not match its schema');
  });

  it('has no member of a delivery that --fields would reject', () => {
    const members = ListenerEvent.anyOf.flatMap(({ properties }) => Object.keys(properties.data.properties));
    expect(new Set(deliveryFields)).toEqual(new Set(members));
  });

  it('applies to numbered lines of all commands, and to every line of a stream', () => {
    const argv = ['runs', 'start', '--agent', 'a'];
    expect(() => check({ ...event, type: 'other' }, argv)).toThrow('does not match its schema');
    expect(() => check({ id: run }, argv)).not.toThrow();
    expect(() => check({ id: run }, [...argv, '--watch', '-o', 'ndjson'])).toThrow('does not match its schema');
    expect(() => check({ type: 'listening' }, ['webhooks', 'listen', '--json'])).toThrow('does not match its schema');
  });

  it('is a part of the OpenAPI document, with its version and one alternative for each stream', () => {
    const document = JSON.parse(JSON.stringify(openApiDocument('https://agents.example.com'))) as {
      'x-printed-events': object;
      components: { schemas: Record<string, { anyOf: { $ref?: string; properties?: { type: { const: string } } }[] }> };
    };
    expect(document['x-printed-events']).toMatchObject({ version: 1, schema: { $ref: '#/components/schemas/PrintedEvent' } });
    const { schemas } = document.components;
    const streams = ['RunEvent', 'InboxEvent', 'BuilderRunEvent', 'ArtifactEvent', 'ListenerEvent'];
    expect(schemas.PrintedEvent?.anyOf.map(({ $ref }) => $ref)).toEqual(streams.map((name) => `#/components/schemas/${name}`));
    for (const [index, name] of streams.entries()) {
      const types = PrintedEvent.anyOf[index]?.anyOf as unknown as { properties: { type: { const: string } } }[];
      expect(schemas[name]?.anyOf.map(({ properties }) => properties?.type.const)).toEqual(
        types.map(({ properties }) => properties.type.const),
      );
    }
  });
});
