/** Answering one request: from the answers file or at a prompt, and what happens to an answer that is not accepted. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AopsError } from '../../../src/base/errors.ts';
import {
  LeftPendingError,
  type OnRequest,
  type Requester,
  RequestWithdrawn,
  type ResponderOptions,
  respond,
} from '../../../src/cli/following/responder.ts';
import { ServiceAnswerError } from '../../../src/client/errors.ts';
import type { HumanRequest } from '../../../src/interface/types.ts';
import { Drafts } from '../../../src/terminal/prompting/drafts.ts';
import { PromptDismissed } from '../../../src/terminal/prompts.ts';
import { parseAnswersFile } from '../../../src/watch/answers.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const questionsOf = (...questions: string[]): HumanRequest =>
  ({ id: 'r', type: 'question', title: 'The release', questions: questions.map((question) => ({ question })) }) as HumanRequest;
const away = () => new AopsError('The service cannot be reached.', { code: 'service_unreachable', exit: 8 });
const conflict = () => new ServiceAnswerError(409, { error: 'already_answered', message: 'It was answered already.' }, {});

interface Person {
  /** What the person writes, one for each question; without a further text, Esc is pressed. */
  texts?: string[];
  /** Called when a question is prompted for. */
  onPrompt?: (withdrawal: AbortController) => void;
  /** Called while the command waits for the service. */
  onPause?: (withdrawal: AbortController) => void;
  onRequest?: OnRequest;
  answers?: ResponderOptions['answers'];
  /** Saves a text that was not sent, instead of a file. */
  save?: Drafts['save'];
}

/** Responds to a request. The service gives one outcome for each attempt: undefined accepts the answer. */
async function responding(request: HumanRequest, outcomes: (Error | undefined)[], person: Person = {}) {
  const { texts = [], onPrompt, onPause, onRequest = 'prompt', answers } = person;
  const lines: string[] = [];
  const sent: unknown[] = [];
  const withdrawal = new AbortController();
  const pauses: number[] = [];
  const folder = await temporaryFolder();
  const clock = {
    now: () => 0,
    sleep: async (milliseconds: number) => {
      pauses.push(milliseconds);
      onPause?.(withdrawal);
    },
  };
  const drafts = person.save === undefined ? new Drafts(folder, clock as never) : { save: person.save };
  const input = async (_question: object, { signal }: { signal: AbortSignal }): Promise<string> => {
    onPrompt?.(withdrawal);
    signal.throwIfAborted();
    const text = texts.shift();
    if (text === undefined) throw new PromptDismissed();
    return text;
  };
  const requester: Requester = {
    sender: (_request, answer) => async () => {
      sent.push(answer);
      const outcome = outcomes.shift();
      if (outcome !== undefined) throw outcome;
    },
    waitingError: () => new AopsError('It waits.', { code: 'run_waiting', exit: 12 }),
  };
  const options = {
    ...{ onRequest, answers, clock, prompter: { input }, drafts },
    note: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(line),
  } as unknown as ResponderOptions;
  const result = await respond(options, requester, request, withdrawal.signal).catch((error: unknown) => error);
  const saved = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'));
  return { result, lines, sent, pauses, saved, folder };
}

describe('an answer that was written at a prompt', () => {
  it('is sent once, and not saved', async () => {
    const { result, sent, lines, saved } = await responding(questionsOf('Why?'), [], { texts: ['because'] });
    expect([result, sent, lines, saved]).toEqual([true, [{ answers: { 'Why?': 'because' } }], [], []]);
  });

  it('is sent again until the service can be reached, which is reported once', async () => {
    const { result, sent, lines, pauses, saved } = await responding(questionsOf('Why?'), [away(), away(), undefined], { texts: ['x'] });
    expect([result, sent.length, pauses, saved]).toEqual([true, 3, [2_000, 2_000], []]);
    expect(lines).toEqual([
      'The service is unreachable. Your answer will be sent once it is back.',
      'The service is reachable again. Your answer was sent.',
    ]);
  });

  it('is sent again if its outcome is unknown', async () => {
    const unknown = new AopsError('The outcome is unknown.', { code: 'outcome_unknown', exit: 13 });
    expect(await responding(questionsOf('Why?'), [unknown, undefined], { texts: ['x'] })).toMatchObject({ result: true });
  });

  it('is not sent again after another error, and is saved', async () => {
    for (const error of [new AopsError('Not allowed.', { code: 'forbidden', exit: 5 }), new Error('a fault')]) {
      const { result, sent, pauses, saved } = await responding(questionsOf('Why?'), [error], { texts: ['because'] });
      expect([result, sent.length, pauses, saved]).toEqual([error, 1, [], ['because\n']]);
    }
  });

  it('is saved if somebody else has answered', async () => {
    const { result, lines, saved, folder } = await responding(questionsOf('Why?'), [conflict()], { texts: ['because  \n'] });
    expect([result, saved]).toEqual([false, ['because\n']]);
    expect(lines).toEqual([
      'The request had already been answered, so your answer was not used.',
      `Your text was not sent. It is saved in ${path.join(folder, readdirSync(folder)[0] ?? '')}`,
    ]);
  });

  it('is saved with the question if there are several, and without those that are empty', async () => {
    const request = questionsOf('What?', 'Where?', 'Why?', 'When?');
    const { saved } = await responding(request, [], { texts: ['this', ' ', 'because'] });
    expect(saved).toEqual(['## What?\n\nthis\n\n## Why?\n\nbecause\n']);
  });

  it('is shown if it cannot be saved', async () => {
    const save = (): string => {
      throw new Error('The disk is full.');
    };
    const request = questionsOf('What?', 'Why?', 'When?');
    const { lines } = await responding(request, [], { texts: ['this', 'because'], save });
    expect(lines).toEqual([
      'Your text was not sent, and it could not be saved: The disk is full.\n## What?\n\nthis\n\n## Why?\n\nbecause\n',
    ]);
  });
});

describe('a request that is no longer pending', () => {
  it('ends its prompt, and the reason is shown if it is for the person', async () => {
    const end = (reason: unknown) => ({ onPrompt: (withdrawal: AbortController) => withdrawal.abort(reason) });
    expect(await responding(questionsOf('Why?'), [], end(new RequestWithdrawn('Somebody else answered.')))).toMatchObject({
      result: false,
      lines: ['Somebody else answered.'],
    });
    expect(await responding(questionsOf('Why?'), [], end(new Error('ended')))).toMatchObject({ result: false, lines: [] });
  });

  it('ends the attempts to send its answer with one more, and the text is saved', async () => {
    const { result, sent, lines, saved } = await responding(questionsOf('Why?'), [away(), away(), away()], {
      texts: ['because'],
      onPause: (withdrawal) => withdrawal.abort(new RequestWithdrawn('Somebody else answered.')),
    });
    expect([result, sent.length, saved]).toEqual([false, 2, ['because\n']]);
    expect(lines).toEqual([
      'The service is unreachable. Your answer will be sent once it is back.',
      'Somebody else answered.',
      expect.stringContaining('Your text was not sent.'),
    ]);
  });

  it('does not hide another error of its answer', async () => {
    const error = new AopsError('Not allowed.', { code: 'forbidden', exit: 5 });
    const onPause = (withdrawal: AbortController) => withdrawal.abort(new RequestWithdrawn('Somebody else answered.'));
    expect(await responding(questionsOf('Why?'), [away(), error], { texts: ['because'], onPause })).toMatchObject({ result: error });
  });

  it('stays left pending if the person has left it', async () => {
    const onPrompt = (withdrawal: AbortController) => {
      withdrawal.abort(new RequestWithdrawn('Somebody else answered.'));
      throw new PromptDismissed();
    };
    expect((await responding(questionsOf('Why?'), [], { onPrompt })).result).toBeInstanceOf(LeftPendingError);
  });
});

describe('an answers file', () => {
  const answers = async () => parseAnswersFile('answers: { "Why?": because }', 'answers.yaml');

  it('answers for the person, who is not asked', async () => {
    const { result, sent, lines } = await responding(questionsOf('Why?'), [], { answers: await answers() });
    expect([result, sent, lines]).toEqual([false, [{ answers: { 'Why?': 'because' } }], ['Answered from the answers file.']]);
  });

  it('does not claim to have answered if somebody else did', async () => {
    const { result, lines } = await responding(questionsOf('Why?'), [conflict()], { answers: await answers() });
    expect([result, lines]).toEqual([false, ['The request had already been answered, so your answer was not used.']]);
  });

  it('leaves its error to the command', async () => {
    const error = away();
    expect(await responding(questionsOf('Why?'), [error], { answers: await answers() })).toMatchObject({ result: error, lines: [] });
  });
});

it('nobody is asked with --on-request wait or fail', async () => {
  expect(await responding(questionsOf('Why?'), [], { onRequest: 'wait' })).toMatchObject({ result: false, sent: [], lines: [] });
  expect(await responding(questionsOf('Why?'), [], { onRequest: 'fail' })).toMatchObject({ result: { code: 'run_waiting' }, sent: [] });
});
