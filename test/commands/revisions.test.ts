/** The revisions commands: comparing, promoting and generating. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Build, BuilderRun } from '../../src/interface/types.ts';
import type { BuilderRunEvent } from '../../src/watch/watch-builder-run.ts';
import { eventually } from '../support/eventually.ts';
import type { CliResult } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';

const steps = '- say: Hello\n- approve: { id: pay, title: "Pay?" }\n- approve: { id: book, title: "Book?" }';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.file('new.yaml', 'version: 1\nsteps:\n  - say: New\n');
});

let names = 0;
/** An agent with a live revision and, by default, a draft. Returns its name. */
async function agent(withDraft = true): Promise<string> {
  names += 1;
  const name = `revised-${names}`;
  await service.agent(steps, name);
  if (withDraft) expect((await service.cli(['revisions', 'create', name])).code).toBe(0);
  return name;
}

const errorOf = (result: CliResult): Record<string, unknown> =>
  (JSON.parse(result.stderr.trimEnd().split('\n').at(-1) ?? '') as { error: Record<string, unknown> }).error;
const get = async (revision: string): Promise<Build> =>
  (await service.cli(['revisions', 'get', revision, '--json'])).json<Build & Record<string, unknown>>();
const builderRun = async (revision: string): Promise<BuilderRun> =>
  (await service.cli(['revisions', 'builder-run', revision, '--json'])).json<BuilderRun & Record<string, unknown>>();
const proposalOf = (revision: string): Promise<BuilderRun> =>
  eventually('a proposal', async () => {
    const run = await builderRun(revision);
    return run.status === 'waiting_for_approve' && run;
  });

describe.concurrent('revisions', () => {
  it('are listed, shown, and found by ID, name or number', async () => {
    const name = await agent();
    const list = await service.cli(['revisions', 'list', name, '--color', 'never'], { tty: true });
    expect(list.stdout).toMatch(/REVISION +STATUS +NAME/);
    expect(list.stdout).toMatch(/2 +draft +Copy of live/);
    expect(list.stdout).toMatch(/1 +live +first/);
    const [draft, live] = [await get(`${name}@latest`), await get(`${name}@live`)];
    expect([draft.revision_number, live.revision_number]).toEqual([2, 1]);
    expect((await get(`${name}@1`)).id).toBe(live.id);
    expect((await get(live.id)).id).toBe(live.id);
    expect((await get(draft.id.toUpperCase())).id).toBe(draft.id);
    const singleResult = await service.cli(['revisions', 'get', 'live', '--agent', name, '-o', 'id']);
    expect(singleResult.stdout.trim()).toBe(live.id);
    const text = await service.cli(['revisions', 'get', `${name}@live`, '--procedure']);
    expect(text.stdout).toBe(`version: 1\nsteps:\n${steps.replace(/^/gm, '  ')}\n`);
  });

  it.each([
    ['nonsense', 2, 'usage'],
    ['live', 2, 'usage'],
    ['NAME@', 2, 'usage'],
    ['NAME@0', 2, 'usage'],
    ['NAME@9', 3, 'revision_not_found'],
    ['nobody@live', 3, 'agent_not_found'],
    ['00000000-0000-4000-8000-000000000000', 3, 'revision_not_found'],
  ])('that are not there are named: %s', async (reference, exit, code) => {
    const name = await agent(false);
    const result = await service.cli(['revisions', 'get', reference.replace('NAME', name), '--json']);
    expect(result.stdout).toBe('');
    expect([result.code, errorOf(result).code]).toEqual([exit, code]);
    expect(errorOf(result).hint).toBeTruthy();
    if (reference === 'NAME@9') expect(errorOf(result).hint).toContain('aops revisions list');
  });

  it('are created as a copy or with a new procedure', async () => {
    const name = await agent(false);
    const ownResult = await service.cli(['revisions', 'create', name, '--procedure', 'new.yaml', '--name', 'spring', '--json']);
    expect(ownResult.json<Build & Record<string, unknown>>()).toMatchObject({ name: 'spring', status: 'draft', revision_number: 2 });
    const copy = await service.cli(['revisions', 'create', name, '--from', '2', '--json']);
    expect(copy.json()).toMatchObject({ name: 'Copy of 2', parent_build_id: (await get(`${name}@2`)).id });
    expect((await get(`${name}@3`)).config).toEqual((await get(`${name}@2`)).config);
    await service.file('wrong.yaml', 'version: 1\nsteps:\n  - sya: Hi\n');
    const refusal = await service.cli(['revisions', 'create', name, '--procedure', 'wrong.yaml']);
    expect(refusal.code).toBe(2);
    expect(refusal.stderr).toContain('wrong.yaml:3:5: unknown step `sya`; did you mean `say`?');
  });

  it('are changed and promoted, also to an older revision', async () => {
    const name = await agent();
    const updateResult = await service.cli([
      'revisions',
      'update',
      `${name}@latest`,
      '--procedure',
      'new.yaml',
      '--name',
      'Newer',
      '--json',
    ]);
    expect(updateResult.json()).toMatchObject({
      revision_name: 'Newer',
      config: { version: 'v2', data: { input: 'version: 1\nsteps:\n  - say: New\n' } },
    });
    expect(await service.cli(['revisions', 'update', `${name}@latest`])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing to change'),
    });
    const promoteResult = await service.cli(['revisions', 'promote', `${name}@latest`]);
    expect(promoteResult.stdout).toMatch(/^Revision [0-9a-f-]{36} is live: new runs use it\.\n$/);
    expect((await service.cli(['revisions', 'promote', `${name}@live`])).code).toBe(6);
    expect((await service.cli(['revisions', 'promote', `${name}@1`, '--name', 'Back'])).code).toBe(0);
    expect(await get(`${name}@live`)).toMatchObject({ revision_number: 1, revision_name: 'Back' });
  });

  it('are compared', async () => {
    const name = await agent();
    const unchangedResult = await service.cli(['revisions', 'diff', `${name}@live`, 'latest']);
    expect(unchangedResult).toMatchObject({ code: 0, stdout: '', stderr: 'The revisions are the same.\n' });
    await service.cli(['revisions', 'update', `${name}@latest`, '--procedure', 'new.yaml']);
    const diff = await service.cli(['revisions', 'diff', `${name}@live`, 'latest']);
    expect(diff.stdout).toBe(`--- revision 1 (live)
+++ revision 2 (draft)
@@ -1,5 +1,3 @@
 version: 1
 steps:
-  - say: Hello
-  - approve: { id: pay, title: "Pay?" }
-  - approve: { id: book, title: "Book?" }
+  - say: New
`);
    const colouredResult = await service.cli(['revisions', 'diff', '1', '2', '--agent', name], { tty: true });
    expect(colouredResult.stdout).toContain('\u001b[32m+  - say: New');
    const json = await service.cli(['revisions', 'diff', 'latest', `${name}@1`, '--json']);
    expect(json.json()).toMatchObject({ same: false, before: { revision_number: 2 }, after: { revision_number: 1 }, config: [] });
  });

  it('are compared including their settings', async () => {
    const name = await agent();
    const { config } = await get(`${name}@live`);
    const data = { ...(config?.data as object), files: ['a.csv'], options: { browserProvider: 'browserbase' } };
    await service.file('body.json', JSON.stringify({ config: { ...config, data } }));
    expect((await service.cli(['revisions', 'update', `${name}@latest`, '--input', 'body.json'])).code).toBe(0);
    const diff = await service.cli(['revisions', 'diff', `${name}@live`, 'latest']);
    expect(diff.stdout).toBe('data.files: (none) -> ["a.csv"]\ndata.options.browserProvider: (none) -> "browserbase"\n');
    // A new procedure does not change them.
    await service.cli(['revisions', 'update', `${name}@latest`, '--procedure', 'new.yaml']);
    expect((await get(`${name}@latest`)).config?.data).toMatchObject({ files: ['a.csv'], options: { browserProvider: 'browserbase' } });
  });
});

describe.concurrent('aops revisions generate', () => {
  it('starts a builder run and shows how to watch it', async () => {
    const name = await agent();
    const startResult = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "Bye"']);
    expect(startResult.code).toBe(0);
    const { id } = await proposalOf(`${name}@latest`);
    expect(startResult.stdout).toContain(id);
    expect(startResult.stderr).toMatch(/^Watch it with: aops revisions watch [0-9a-f-]{36}\n$/);
    const repeatResult = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "x"', '--json']);
    expect([repeatResult.code, errorOf(repeatResult).code]).toEqual([6, 'builder_run_active']);
    expect((await service.cli(['revisions', 'promote', `${name}@latest`])).stderr).toContain('Accept, decline, or discard it first.');
  });

  it('shows the proposal and, without a terminal, ends with 12 and the command to decide', async () => {
    const name = await agent();
    await service.file(`${name}.txt`, 'say "Bye" at the end.\nrun "sort < in.csv"\n');
    const result = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', `@${name}.txt`, '--watch']);
    expect(result.code).toBe(12);
    expect(result.stdout).toContain('Changes\n- Added a step (say): Bye\n- Added a step (exec): sort < in.csv\n');
    expect(result.stdout).toContain('- Commands must be allowed (done)\n- The file in.csv (to do)\n');
    expect(result.stdout).toContain('--- current\n+++ proposed\n');
    expect(result.stdout).toContain('\n+  - say: Bye\n');
    const command = /`(aops revisions accept [^`]*)`/.exec(result.stderr)?.[1] as string;
    const acceptResult = await service.cli(command.split(' ').slice(1));
    expect(acceptResult).toMatchObject({ code: 0, stderr: '' });
    expect(acceptResult.stdout).toBe(
      'Accepted: the proposal was applied to the revision. Make a draft live with `aops revisions promote`.\nStill to set up: The file in.csv.\n',
    );
    expect(JSON.stringify((await get(`${name}@latest`)).config)).toContain('Bye');
  });

  it('accepts or declines as the flags specify', async () => {
    const name = await agent();
    const acceptResult = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "Bye"', '--accept', '--json']);
    expect(acceptResult.json()).toMatchObject({ status: 'completed', resolution: 'accepted', changes: ['Added a step (say): Bye'] });
    const declineResult = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'remove step 1', '--decline']);
    expect(declineResult).toMatchObject({ code: 0, stderr: expect.stringContaining('Declined: the revision is unchanged.') });
    expect(declineResult.stdout).toContain('Removed Step 1 (say): Hello');
    const text = (await service.cli(['revisions', 'get', `${name}@latest`, '--procedure'])).stdout;
    expect(text).toContain('Hello');
    expect(text).toContain('Bye');
    const bothResult = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "x"', '--accept', '--decline']);
    expect(bothResult.code).toBe(2);
  });

  it('answers questions from a file, or ends with 12 and the command to answer', async () => {
    const name = await agent();
    const prompt = ['--prompt', 'remove the approval'];
    const waitResult = await service.cli(['revisions', 'generate', `${name}@latest`, ...prompt, '--watch', '--json']);
    expect([waitResult.code, errorOf(waitResult).code]).toEqual([12, 'builder_run_waiting_for_input']);
    expect(errorOf(waitResult).hint).toContain(
      `--answer 'Request 1, "remove the approval": 2 steps match. Which one do you mean?=Step 2 (approve): Pay?'`,
    );
    expect((await service.cli(['revisions', 'respond', `${name}@latest`, '--answer', 'Step 7'])).code).toBe(2);
    const answerResult = await service.cli(['revisions', 'respond', `${name}@latest`, '--answer', 'Step 2 (approve): Pay?', '--json']);
    expect(answerResult.json()).toMatchObject({ status: 'running', pending_user_questions: null });
    const watchResult = await service.cli(['revisions', 'watch', `${name}@latest`, '--decline', '--json']);
    expect(watchResult.json()).toMatchObject({ status: 'cancelled', resolution: 'declined', changes: ['Removed Step 2 (approve): Pay?'] });
    const emptyResult = await service.cli(['revisions', 'respond', `${name}@latest`, '--answer', 'x', '--json']);
    expect([emptyResult.code, errorOf(emptyResult).code]).toEqual([6, 'builder_run_not_waiting']);

    await service.file('which.yaml', 'answers: { "Request 1*Which one do you mean?": "step 3 (approve): book?" }\n');
    const file = await service.cli(['revisions', 'generate', `${name}@latest`, ...prompt, '--answers', 'which.yaml', '--accept']);
    expect(file).toMatchObject({ code: 0, stderr: expect.stringContaining('Answered from the answers file.') });
    expect((await service.cli(['revisions', 'get', `${name}@latest`, '--procedure'])).stdout).not.toContain('Book?');
  });

  it('prints its events for programs', async () => {
    const name = await agent();
    await service.file('pay.yaml', 'answers: { "Request 1*": "Step 2 (approve): Pay?" }\n');
    const args = [
      'revisions',
      'generate',
      `${name}@latest`,
      '--prompt',
      'remove the approval',
      '--answers',
      'pay.yaml',
      '--accept',
      '-o',
      'ndjson',
    ];
    const result = await service.cli(args);
    expect(result.code).toBe(0);
    const events = result.lines<BuilderRunEvent>();
    const types = events.map(({ type }) => type).filter((type) => type !== 'builder_run.phase' && type !== 'builder_run.status');
    expect(types).toEqual(['builder_run.asking', 'builder_run.answered', 'builder_run.proposed', 'builder_run.finished']);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ v: 1, data: { builder_run: { status: 'completed', resolution: 'accepted' } } });
    const watch = (...form: string[]) => service.cli(['revisions', 'watch', `${name}@latest`, '-o', 'ndjson', ...form]);
    expect((await watch('--fields', 'builder_run_id,type')).lines()).toContainEqual({
      builder_run_id: events[0]?.builder_run_id,
      type: 'builder_run.finished',
    });
    expect(await watch('--fields', 'artifact_id')).toMatchObject({ code: 2, stdout: '' });
  });

  it('prints the builder run if its question cannot be answered, and drops the question when it is discarded', async () => {
    const name = await agent();
    const promptResult = await service.cli([
      'revisions',
      'generate',
      `${name}@latest`,
      '--prompt',
      'remove the approval',
      '--watch',
      '--json',
    ]);
    expect([promptResult.code, errorOf(promptResult).code]).toEqual([12, 'builder_run_waiting_for_input']);
    expect(promptResult.json()).toMatchObject({ status: 'waiting_for_input', pending_user_questions: { questions: [expect.anything()] } });
    let pendingDiscard: Promise<CliResult> | undefined;
    const watchResult = await service.cli(['revisions', 'watch', `${name}@latest`, '--on-request', 'wait', '-o', 'ndjson'], {
      onOutput: (stdout) => {
        if (stdout.includes('builder_run.asking')) pendingDiscard ??= service.cli(['revisions', 'discard', `${name}@latest`]);
      },
    });
    expect([watchResult.code, (await pendingDiscard)?.code]).toEqual([11, 0]);
    const types = watchResult.lines<BuilderRunEvent>().map(({ type }) => type);
    expect(types).not.toContain('builder_run.answered');
    expect(types.at(-1)).toBe('builder_run.finished');
  });

  it('is watched again after any event, and its pending question is still reported as the reason to wait', async () => {
    const name = await agent();
    const generated = await service.cli([
      ...['revisions', 'generate', `${name}@latest`, '--prompt', 'remove the approval', '--watch'],
      ...['-o', 'ndjson', '--on-request', 'fail'],
    ]);
    const events = generated.lines<BuilderRunEvent>();
    expect([generated.code, events.at(-1)?.type]).toEqual([12, 'builder_run.asking']);
    const watch = (resume: string) => service.cli(['revisions', 'watch', `${name}@latest`, '-o', 'ndjson', '--resume', resume]);
    const waiting = await watch(events.at(-1)?.resume as string);
    expect([waiting.code, waiting.stdout]).toEqual([12, '']);
    expect(errorOf(waiting).code).toBe('builder_run_waiting_for_input');
    await service.cli(['revisions', 'discard', `${name}@latest`]);
    const rest = await watch(events.at(-1)?.resume as string);
    const seq = events.length;
    expect(rest.code).toBe(11);
    expect(rest.lines<BuilderRunEvent>().map((event) => [event.seq, event.type])).toEqual([
      [seq + 1, 'builder_run.status'],
      [seq + 2, 'builder_run.finished'],
    ]);
    const over = await watch(rest.lines<BuilderRunEvent>()[1]?.resume as string);
    expect([over.code, over.stdout]).toEqual([11, '']);
    const otherName = await agent();
    await service.cli(['revisions', 'generate', `${otherName}@latest`, '--prompt', 'make it nicer', '--watch']);
    const foreign = await service.cli([
      ...['revisions', 'watch', `${otherName}@latest`, '-o', 'ndjson'],
      ...['--resume', events[0]?.resume as string],
    ]);
    expect([foreign.code, errorOf(foreign).code]).toEqual([2, 'resume_token_foreign']);
  });

  it('fails with the reason, and exit 10', async () => {
    const name = await agent();
    const failure = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'make it nicer', '--watch']);
    expect(failure.code).toBe(10);
    expect(failure.stderr).toContain('error: The builder run failed: Not understood: "make it nicer".');
    expect(failure.stderr).toContain('- remove step 4');
    const json = await service.cli(['revisions', 'watch', `${name}@latest`, '--json']);
    expect([json.code, errorOf(json).code, json.json().status]).toEqual([10, 'builder_run_failed', 'failed']);
  });

  it('detaches on Ctrl-C and shows how to come back', async () => {
    const name = await agent();
    let interrupt = (): void => undefined;
    const args = ['revisions', 'generate', `${name}@latest`, '--prompt', 'remove the approval', '--watch', '--on-request', 'wait'];
    const result = await service.cli(args, {
      onStart: (stop) => {
        interrupt = stop;
      },
      onOutput: (_, stderr) => {
        if (!stderr.includes('[asking]')) return;
        interrupt();
        interrupt = () => undefined;
      },
    });
    expect(result.code).toBe(130);
    expect(result.stderr).toMatch(/Detached\. The builder run continues\. Come back with: aops revisions watch [0-9a-f-]{36}\n$/);
    expect((await builderRun(`${name}@latest`)).status).toBe('waiting_for_input');
    const discardResult = await service.cli(['revisions', 'discard', `${name}@latest`]);
    expect(discardResult.stdout).toBe('Discarded: the builder run has ended, and the revision is unchanged.\n');
    expect((await service.cli(['revisions', 'watch', `${name}@latest`])).code).toBe(11);
    expect((await service.cli(['revisions', 'discard', `${name}@latest`])).code).toBe(6);
  });

  it('sends nothing in a dry run', async () => {
    const name = await agent();
    const dryRunResult = await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "x"', '--watch', '--dry-run']);
    expect(dryRunResult.json()).toMatchObject({ method: 'POST', body: { prompt: 'say "x"' } });
    expect((await service.cli(['revisions', 'builder-run', `${name}@latest`])).code).toBe(3);
  });
});

describe.concurrent('a review', () => {
  it('applies to the builder run that is displayed', async () => {
    const name = await agent();
    await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "Bye"']);
    await proposalOf(`${name}@latest`);
    const acceptResult = await service.cli(['revisions', 'accept', `${name}@latest`]);
    expect(acceptResult).toMatchObject({ code: 0, stderr: 'Request: say "Bye"\n- Added a step (say): Bye\n' });
    const repeatResult = await service.cli(['revisions', 'accept', `${name}@latest`]);
    expect(repeatResult.code).toBe(6);
    expect(repeatResult.stderr).toContain('error: The builder run was already accepted.\n');
  });

  it('of a failed builder run is rejected without repeating the reason', async () => {
    const name = await agent();
    expect((await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'write a poem', '--accept'])).code).toBe(10);
    const refusal = await service.cli(['revisions', 'accept', `${name}@latest`]);
    expect(refusal.code).toBe(6);
    expect(refusal.stderr).toContain('error: The builder run failed, so there is no proposal.\n');
    expect(refusal.stderr).not.toContain('understands');
  });

  it('is reported when the builder run is watched afterwards', async () => {
    const name = await agent();
    await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "Bye"', '--decline']);
    const watchResult = await service.cli(['revisions', 'watch', `${name}@latest`]);
    expect(watchResult.code).toBe(11);
    expect(watchResult.stderr).toContain('error: The builder run was declined.\n');
  });

  it('is rejected when another builder run has replaced it, with the new one in the error', async () => {
    const name = await agent();
    await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'say "Bye"']);
    const first = await proposalOf(`${name}@latest`);
    await service.cli(['revisions', 'discard', `${name}@latest`]);
    await service.cli(['revisions', 'generate', `${name}@latest`, '--prompt', 'remove step 1\nremove step 2']);
    const second = await proposalOf(`${name}@latest`);
    for (const verb of ['accept', 'decline']) {
      const staleFlags = ['--builder-run', first.id, '--expected-started-at', first.started_at as string];
      const refusal = await service.cli(['revisions', verb, `${name}@latest`, ...staleFlags]);
      expect(refusal.code).toBe(6);
      expect(refusal.stderr).toContain('another builder run has taken its place');
      expect(refusal.stderr).toContain(
        `Another builder run has replaced it: ${second.id}, waiting_for_approve, started ${second.started_at}. Its request: remove step 1`,
      );
      expect(refusal.stderr).toMatch(/hint: Nothing was changed\. Show it with `aops revisions builder-run [0-9a-f-]{36}`\./);
    }
    const restartResult = await service.cli([
      'revisions',
      'accept',
      `${name}@latest`,
      '--builder-run',
      second.id,
      '--expected-started-at',
      '2026-01-01T00:00:00Z',
      '--json',
    ]);
    expect([restartResult.code, errorOf(restartResult).code]).toEqual([6, 'builder_run_changed']);
    expect((await builderRun(`${name}@latest`)).status).toBe('waiting_for_approve');
    const singleResult = await service.cli(['revisions', 'accept', `${name}@latest`, '--expected-started-at', '2026-01-01T00:00:00Z']);
    expect(singleResult).toMatchObject({ code: 2, stderr: expect.stringContaining('--builder-run') });
    const scheduleResult = await service.cli([
      'revisions',
      'accept',
      `${name}@latest`,
      '--builder-run',
      second.id,
      '--expected-started-at',
      'noon',
    ]);
    expect(scheduleResult.code).toBe(2);
  });
});
