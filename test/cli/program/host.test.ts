import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { type Host, jobControl } from '../../../src/cli/program/host.ts';

it('handles no signals during work that can be interrupted, and the same ones as before afterwards', async () => {
  const host = new EventEmitter() as EventEmitter & Host;
  const received: string[] = [];
  host.on('SIGINT', () => received.push('SIGINT'));
  host.once('SIGTERM', () => received.push('SIGTERM'));
  const { interruptibly } = jobControl(host);
  const handledDuringWork = (): string[] => ['SIGINT', 'SIGTERM'].filter((signal) => host.listenerCount(signal) > 0);
  expect(await interruptibly(async () => handledDuringWork())).toEqual([]);
  await expect(interruptibly(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  for (let time = 0; time < 2; time += 1) for (const signal of ['SIGINT', 'SIGTERM']) host.emit(signal);
  expect(received).toEqual(['SIGINT', 'SIGTERM', 'SIGINT']);
});
