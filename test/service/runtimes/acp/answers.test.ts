/** Answers of agents to requests: those of real agents can be used, and others are refused with what is wrong. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkedAnswer } from '../../../../src/service/runtimes/acp/answers.ts';
import { transcriptOf } from '../../../agents/transcript.ts';

const agents = readdirSync(path.join(import.meta.dirname, '../../../agents/transcripts')).map((file) => path.basename(file, '.ndjson'));
/** The methods whose answers have these fields. */
const methodsByField = { protocolVersion: 'initialize', sessionId: 'session/new', stopReason: 'session/prompt' };

describe('an answer', () => {
  it.each(agents)('of %s is used unchanged', (agent) => {
    const results = transcriptOf(agent).flatMap(({ result }) => (result === undefined ? [] : [result as Record<string, unknown>]));
    const methods = new Set<string>();
    for (const result of results)
      for (const [field, method] of Object.entries(methodsByField)) {
        if (!(field in result)) continue;
        methods.add(method);
        expect(checkedAnswer(method, result)).toEqual(result);
      }
    expect([...methods].sort()).toEqual(['initialize', 'session/new', 'session/prompt']);
  });

  it.each<[string, unknown]>([
    ['session/resume', null],
    ['session/load', undefined],
    ['session/load', {}],
    ['session/new', { sessionId: '', modes: null, configOptions: null, _meta: 1 }],
    ['session/new', { sessionId: '1', configOptions: [{ type: 'boolean' }, { type: 'select', category: 'model' }] }],
    ['initialize', { protocolVersion: 2, authMethods: [], agentCapabilities: 'none' }],
    ['session/prompt', { stopReason: 'a new one' }],
  ])('to %s can be %j', (method, answer) => {
    expect(checkedAnswer(method, answer)).toEqual(answer ?? {});
  });

  it.each([
    [{ agentInfo: { name: 5 }, authMethods: [{ id: 'key' }] }, { authMethods: [] }],
    [{ agentInfo: 'me', authMethods: null }, {}],
    [{ agentInfo: null, authMethods: [null, { id: 'key', name: 'API key' }] }, { authMethods: [{ id: 'key', name: 'API key' }] }],
  ])('is used without a description of the agent that is not valid: %j', (description, expected) => {
    expect(checkedAnswer('initialize', { protocolVersion: 1, ...description })).toEqual({ protocolVersion: 1, ...expected });
  });

  const mode = { id: 'mode', type: 'select', category: 'mode', currentValue: 'ask', options: [{ value: 'ask', name: 'Ask' }] };
  it.each<[string, unknown, string]>([
    ['initialize', null, 'protocolVersion'],
    ['initialize', { protocolVersion: '1' }, 'protocolVersion'],
    ['session/new', [], 'sessionId'],
    ['session/new', { sessionId: null }, 'sessionId'],
    ['session/new', { sessionId: '1', modes: [] }, 'modes'],
    ['session/new', { sessionId: '1', modes: { currentModeId: 'ask' } }, 'modes'],
    ['session/resume', { modes: { currentModeId: 'ask', availableModes: [{ id: 'ask' }] } }, 'modes'],
    ['session/load', { configOptions: {} }, 'configOptions'],
    ['session/load', { configOptions: [null] }, 'configOptions'],
    ['session/load', { configOptions: [mode, { ...mode, currentValue: undefined }] }, 'configOptions'],
    ['session/load', { configOptions: [{ ...mode, options: [{ name: 'Group', options: [{ value: 1 }] }] }] }, 'configOptions'],
    ['session/prompt', 'end_turn', 'stopReason'],
  ])('to %s cannot be %j', (method, answer, field) => {
    expect(() => checkedAnswer(method, answer)).toThrow(
      `The agent does not follow the Agent Client Protocol: its answer to \`${method}\` has no valid \`${field}\`.`,
    );
  });

  it.each([[[mode]], [[{ ...mode, options: [{ name: 'Group', options: mode.options }] }]]])(
    'with options for modes is used: %j',
    (configOptions) => {
      const answer = { configOptions };
      expect(checkedAnswer('session/load', answer)).toBe(answer);
    },
  );
});
