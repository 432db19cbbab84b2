/** Answering requests while a stream is shown: when events are held back, and what is reported to the stream. */
import { describe, expect, it, vi } from 'vitest';
import { AopsError } from '../../../src/base/errors.ts';
import { RequestAnswerer } from '../../../src/cli/following/request-answerer.ts';
import type { ResponderOptions } from '../../../src/cli/following/responder.ts';
import type { HumanRequest } from '../../../src/interface/types.ts';
import { PromptCancelled } from '../../../src/terminal/prompts.ts';

const request = { id: 'r', type: 'approval', title: 'Pay?', description: null, created_at: '2026-01-01T00:00:00Z' } as HumanRequest;

/** A stream whose person chooses with `choose`, and what has happened. */
function stream({ onRequest = 'prompt' as ResponderOptions['onRequest'] } = {}) {
  const happened: string[] = [];
  let choose: (choice: string | Error) => void = () => undefined;
  const select = (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve, reject) => {
      choose = (choice) => (choice instanceof Error ? reject(choice) : resolve(choice));
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const streamController = new AbortController();
  const notes: string[] = [];
  const options = { onRequest, answers: undefined, prompter: { select }, note: (text: string) => notes.push(text), warn: () => undefined };
  const waiting = new AopsError('It waits.', { code: 'run_waiting', exit: 12 });
  const send = vi.fn(async () => void happened.push('sent'));
  const answerer = new RequestAnswerer(
    options as unknown as ResponderOptions,
    { sender: () => send, waitingError: () => waiting },
    {
      sink: {
        hold: () => void happened.push('held'),
        resume: async (answeredHere) => {
          // Longer than everything that does not wait for it.
          await new Promise((resolve) => setImmediate(resolve));
          happened.push(`resumed ${answeredHere}`);
        },
      },
      streamController,
      pace: { hurry: () => void happened.push('hurried') } as never,
    },
  );
  return { answerer, happened, notes, streamController, choose: (choice: string | Error) => choose(choice), waiting };
}

const idle = () => new Promise((resolve) => setImmediate(resolve));

describe('a request that is answered here', () => {
  it('is open until then, and its answer is not shown again', async () => {
    const { answerer, happened, choose } = stream();
    expect([answerer.isOpen, answerer.isBusy()]).toEqual([false, false]);
    answerer.startAnswer(request);
    await idle();
    expect([answerer.isOpen, answerer.isBusy(), happened]).toEqual([true, true, ['held']]);
    choose('approve');
    await answerer.end();
    expect([answerer.isOpen, answerer.isBusy()]).toEqual([false, false]);
    expect(happened).toEqual(['held', 'sent', 'resumed true', 'hurried']);
  });
});

describe('a request that is answered elsewhere', () => {
  it('disappears, and what was held back is shown before the stream goes on', async () => {
    const { answerer, happened, notes } = stream();
    answerer.startAnswer(request);
    await idle();
    await answerer.endAnswer(true);
    expect([answerer.isOpen, notes]).toEqual([false, ['Somebody else answered.']]);
    expect(happened).toEqual(['held', 'resumed false', 'hurried']);
  });

  it('disappears without a word if the stream ends', async () => {
    const { answerer, happened, notes } = stream();
    answerer.startAnswer(request);
    await idle();
    await answerer.end();
    expect([notes, happened]).toEqual([[], ['held', 'resumed false', 'hurried']]);
    // It is still pending.
    expect(answerer.isOpen).toBe(true);
  });
});

describe('a request that is left pending', () => {
  it('ends the stream with the error for requests without a prompt, as a choice of the person', async () => {
    const { answerer, streamController, choose, waiting } = stream();
    answerer.startAnswer(request);
    await idle();
    choose('\0leave');
    await answerer.end();
    expect(streamController.signal.reason).toMatchObject({ message: 'Left pending: Pay?', code: waiting.code, exit: 12, isIntended: true });
  });

  it('ends the stream with that error itself if there is no prompt, and holds nothing back', async () => {
    const { answerer, streamController, happened, waiting } = stream({ onRequest: 'fail' });
    answerer.startAnswer(request);
    expect(answerer.isBusy()).toBe(false);
    await answerer.end();
    expect([streamController.signal.reason, happened]).toEqual([waiting, ['hurried']]);
  });

  it('ends the stream with Ctrl-C', async () => {
    const { answerer, streamController, choose } = stream();
    answerer.startAnswer(request);
    await idle();
    const cancelled = new PromptCancelled();
    choose(cancelled);
    await answerer.end();
    expect(streamController.signal.reason).toBe(cancelled);
  });
});
