/**
 * Agents that send anything, people who answer, send messages, and stop the run, and a service that is restarted, in random orders: the
 * agent is permitted nothing that no person has approved, the run ends or waits, and nothing fails for a reason of the service.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import type { HumanRequest } from '../../../../src/interface/types.ts';
import { eventually } from '../../../support/eventually.ts';
import { randomFrom } from '../../../support/random.ts';
import { AgentMachine, processesIn } from '../../helpers/agent-machine.ts';
import { config } from '../../helpers/service.ts';

const agentFile = path.join(import.meta.dirname, '../../../agents/random.js');
const moveCount = 12;
const settled = ['waiting', 'completed', 'failed', 'interrupted'] as const;

/** Why a run failed, or an agent cannot be used, unless it is an error of the code. */
const reason = /^The agent (?!.*(?:Cannot (?:read|destructure|set)|is not (?:a|iterable)|constraint failed))/s;

/** How often each word occurs. */
const countOf = (words: readonly string[]): Map<string, number> =>
  words.reduce((counts, word) => counts.set(word, (counts.get(word) ?? 0) + 1), new Map<string, number>());

it.each([1, 20, 33, 143])('a run is safe whatever its agent sends (seed %i)', async (seed) => {
  const random = randomFrom(seed);
  const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const logged: { level: string }[] = [];
  const machine = await AgentMachine.start({ log: (entry) => void logged.push(entry) });
  const { id, ...run } = await machine.begin({ command: [process.execPath, agentFile, String(seed)] }, 'Hello');
  const params = { run_id: id };
  const approvedWords: string[] = [];

  const answer = async (request: HumanRequest): Promise<{ status: number }> => {
    const to = { params: { ...params, request_id: request.id } };
    if (request.type === 'question') {
      const answers = Object.fromEntries(
        (request.questions ?? []).map(({ question, options }) => [question, options?.[0]?.label ?? 'text']),
      );
      return machine.api.call('respondToHumanRequest', { ...to, body: { answers } });
    }
    const words = new Set(`${request.title} ${request.description}`.match(/word-\d+-of-\d+/g));
    // A person sees what the call is about.
    expect([...words]).toHaveLength(1);
    const approved = random() < 0.6;
    if (approved) approvedWords.push(...words);
    return machine.api.call('respondToHumanRequest', { ...to, body: approved ? { approved } : { approved, reason: oneOf(['no', '']) } });
  };
  const stop = () => machine.api.call('stopRun', { params });
  const say = (message: string) => machine.api.call('postRunMessage', { params, body: { message } });

  for (let move = 0; move < moveCount; move++) {
    if (random() < 0.8) await machine.until(id, ...settled);
    const { run: now } = await machine.api.ok('getRun', { params });
    if (now.status === 'failed') break;
    const { pending_human_request: request } = now;
    const moves = [say, say, stop, ...(request === null ? [] : Array.from({ length: 8 }, () => () => answer(request)))];
    const result = await oneOf([...moves, () => machine.restart()])(`message ${move}`);
    expect(result?.status ?? 200).toBeLessThan(500);
  }
  await machine.until(id, ...settled);
  await stop();
  const { status, error } = await machine.until(id, 'completed', 'failed', 'interrupted');
  if (status === 'failed') expect(error).toMatch(reason);
  // The helper compares each answer with the interface.
  await machine.api.ok('listRunMessages', { params });
  await machine.api.ok('getRunDetail', { params: { agentId: run.agent_id as string, runId: id } });

  const file = path.join(machine.home({ id, ...run }), 'permissions.ndjson');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  const permissions = lines.map((line) => JSON.parse(line) as { word: string; isAllowed: boolean });
  const allowed = countOf(permissions.filter(({ isAllowed }) => isAllowed).map(({ word }) => word));
  const approved = countOf(approvedWords);
  for (const [word, count] of allowed) expect([word, count <= (approved.get(word) ?? 0)]).toEqual([word, true]);
  expect(logged.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  await eventually('the end of its processes', () => processesIn(machine.workspace({ id, ...run })).length === 0);
});

it.each(Array.from({ length: 100 }, (_, i) => i + 1))(
  'a check of an agent that sends anything permits nothing, and says what is wrong (seed %i)',
  async (seed) => {
    const machine = await AgentMachine.start();
    const definition = JSON.stringify({ version: 1, command: [process.execPath, agentFile, String(seed)] });
    const body = { config: config(definition, 'acp'), turn: true };
    const { problem, usable } = await machine.api.ok('checkAgent', { params: { teamId: machine.api.service.teamId }, body });
    expect(usable).toBe(problem === null);
    if (problem !== null) expect(problem.message).toMatch(reason);
  },
);
