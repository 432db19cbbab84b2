/** The artifacts commands: creating, watching, answering, exporting and opening. */
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Artifact, ArtifactMessage } from '../../src/interface/types.ts';
import type { ArtifactEvent } from '../../src/watch/watch-artifact.ts';
import { chromium, needsChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { itNeeding } from '../support/requirements.ts';
import type { CliResult } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService(chromium === undefined ? {} : { browsing: { policy: 'off', executable: chromium } });
  await service.file('shown.txt', 'Here are the ru');
  await service.file('answers.yaml', 'answers:\n  "*what should a bar chart*": agent\n');
});

const errorOf = (result: CliResult): Record<string, unknown> =>
  (JSON.parse(result.stderr.trimEnd().split('\n').at(-1) ?? '') as { error: Record<string, unknown> }).error;
const artifacts = (...argv: string[]): Promise<CliResult> => service.cli(['artifacts', ...argv]);

/** Creates a page and returns its ID. */
async function createArtifact(message: string): Promise<string> {
  const result = await artifacts('create', message, '--watch', '-o', 'id');
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return result.stdout.trim();
}

async function createAskingArtifact(message = 'chart of runs'): Promise<string> {
  const id = (await artifacts('create', message, '-o', 'id')).stdout.trim();
  await eventually('a question', async () => (await artifacts('messages', id, '--json')).json<{ total: number }>().total === 2);
  return id;
}

describe('artifacts', () => {
  it('are created and watched: messages are printed, and the artifact is the result', async () => {
    const result = await artifacts('create', 'title Week; runs by status; usage', '--watch');
    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('Added "Runs by status" as a bar chart.');
    expect(result.stdout).toMatch(/Title\tWeek\nStatus\tcompleted\nPage\tyes\nVisible\tprivate\n/);
    const events = (await artifacts('create', 'runs', '--watch', '-o', 'ndjson')).lines<ArtifactEvent>();
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ v: 1, type: 'artifact.finished', data: { artifact: { status: 'completed' } } });
    expect(events.filter(({ type }) => type === 'artifact.message')).toMatchObject([{ data: { message: { role: 'assistant' } } }]);
    const watched = await artifacts('watch', '@latest', '-o', 'ndjson', '--template', '{{ artifact_id }} {{ type }}');
    expect(watched.stdout.split('\n').at(-2)).toBe(`${events[0]?.artifact_id} artifact.finished`);
    expect(await artifacts('watch', '@latest', '-o', 'ndjson', '--fields', 'run_id')).toMatchObject({ code: 2, stdout: '' });
  });

  it('are watched again after any event, from a token or where aops stopped', async () => {
    const events = (await artifacts('create', 'runs; usage', '--watch', '-o', 'ndjson')).lines<ArtifactEvent>();
    const id = events[0]?.artifact_id as string;
    const watch = (resume: string) => artifacts('watch', id, '-o', 'ndjson', '--resume', resume);
    const messagesOf = (list: readonly ArtifactEvent[]) => list.flatMap(({ data }) => ('message' in data ? [data.message] : []));
    for (const [index, { seq, resume }] of events.entries()) {
      const result = await watch(resume);
      const rest = result.stdout === '' ? [] : result.lines<ArtifactEvent>();
      expect([index, result.code]).toEqual([index, 0]);
      expect(messagesOf(rest)).toEqual(messagesOf(events.slice(index + 1)));
      expect(rest.map((event) => event.seq)).toEqual(rest.map((_, place) => seq + 1 + place));
      expect(rest.at(-1)?.type).toBe(index + 1 < events.length ? 'artifact.finished' : undefined);
    }
    const first = (await watch('auto')).lines<ArtifactEvent>();
    expect(messagesOf(first)).toEqual(messagesOf(events));
    expect(first.at(-1)?.type).toBe('artifact.finished');
    expect((await watch('auto')).stdout).toBe('');
    await artifacts('send', id, 'remove usage', '--watch');
    const continued = (await watch('auto')).lines<ArtifactEvent>();
    expect(continued.map(({ seq }) => seq)).toEqual(continued.map((_, index) => first.length + 1 + index));
    expect(continued[0]).toMatchObject({ data: { message: { content: 'remove usage' } } });
    expect(continued.at(-1)?.type).toBe('artifact.finished');
    const other = (await artifacts('create', 'runs', '-o', 'id')).stdout.trim();
    const foreign = await artifacts('watch', other, '-o', 'ndjson', '--resume', events[0]?.resume as string);
    expect(foreign.code).toBe(2);
    expect(foreign.stderr).toContain(`The resume token belongs to artifact ${id}, not to artifact ${other}.`);
    const run = await artifacts('watch', id, '--resume', 'r1AQMBAJ6j1V4x60tVmZa2eItdQQgPFgEA');
    expect(run.stderr).toContain('This is not a resume token, or a part of it is missing.');
  });

  it('can be created without waiting and read later', async () => {
    const createdArtifact = (await artifacts('create', 'runs', '--json')).json<Artifact & Record<string, unknown>>();
    expect(createdArtifact).toMatchObject({ html_code_present: expect.any(Boolean), visibility: 'private' });
    const finishedArtifact = await eventually('the page', async () => {
      const now = (await artifacts('get', createdArtifact.id, '--json')).json<Artifact & Record<string, unknown>>();
      return now.status === 'completed' && now;
    });
    expect(finishedArtifact).toMatchObject({ title: 'Runs', is_creator: true, can_edit: true });
    const list = (await artifacts('list', '--scope', 'created', '--all', '--json')).json<{ data: Artifact[]; total: number }>();
    expect(list.data.some(({ id }) => id === createdArtifact.id)).toBe(true);
    expect((await artifacts('list', '--scope', 'shared')).stderr).toContain('There are no artifacts.');
  });

  it('are changed from the current or an earlier revision, and restored', async () => {
    const id = await createArtifact('runs by status');
    expect((await artifacts('send', id, 'add usage', '--watch')).code).toBe(0);
    const startResult = await artifacts('send', id, 'agents', '--json');
    expect(startResult.json<ArtifactMessage & Record<string, unknown>>()).toMatchObject({ role: 'user', content: 'agents' });
    await eventually('the third page', async () => (await artifacts('revisions', id, '--json')).json<{ total: number }>().total === 3);
    expect((await artifacts('send', id, 'as a table', '--from', '1', '--watch')).code).toBe(0);
    const rows = (await artifacts('revisions', id)).stdout.split('\n');
    expect(rows.map((row) => row.split('\t').slice(0, 3))).toEqual([
      ['4', 'current', 'changes 1'],
      ['3', '', 'changes 2'],
      ['2', '', 'changes 1'],
      ['1', '', ''],
      [''],
    ]);
    expect((await artifacts('restore', id, 'v2')).stdout).toBe('The current version is now 5.\n');
    expect((await artifacts('revisions', id)).stdout).toMatch(/^5\tcurrent\trestores 2\t/);
    const refusal = await artifacts('restore', id, '9', '--json');
    expect([refusal.code, errorOf(refusal).code]).toEqual([3, 'revision_not_found']);
  });

  it('are renamed, refreshed, published, copied and deleted', async () => {
    const id = await createArtifact('runs');
    const updatedArtifact = (await artifacts('update', id, '--title', 'Name', '--refresh', 'every_6_hours', '--json')).json<
      Artifact & Record<string, unknown>
    >();
    expect(updatedArtifact).toMatchObject({ title: 'Name', refresh_frequency: 'every_6_hours', next_refresh_at: expect.any(String) });
    expect((await artifacts('update', id, '--refresh', 'never', '--json')).json()).toMatchObject({ refresh_frequency: null });
    expect((await artifacts('update', id)).stderr).toContain('There is nothing to change.');
    expect((await artifacts('refresh', id, '--watch', '--json')).json()).toMatchObject({
      status: 'completed',
      last_refresh_at: expect.any(String),
    });
    expect((await artifacts('publish', id, '--permission', 'edit', '--json')).json()).toMatchObject({
      visibility: 'team',
      publish_permission: 'edit',
    });
    const copy = (await artifacts('duplicate', id, '-o', 'id')).stdout.trim();
    expect((await artifacts('get', copy)).stdout).toContain('Copy of Name');
    expect((await artifacts('delete', copy)).stderr).toContain('--yes');
    expect((await artifacts('delete', copy, '--yes')).stdout).toBe('Deleted "Copy of Name".\n');
    expect((await artifacts('get', copy)).code).toBe(3);
  });

  it('list their messages from the end', async () => {
    const id = await createArtifact('runs');
    await artifacts('send', id, 'usage', '--watch');
    const allMessages = (await artifacts('messages', id, '--all', '--json')).json<{ data: ArtifactMessage[]; total: number }>();
    expect(allMessages.data.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const [first, second, third] = allMessages.data;
    const page = (await artifacts('messages', id, '--limit', '1', '--before', third?.id as string, '--json')).json<{
      data: ArtifactMessage[];
    }>();
    expect(page.data).toEqual([second]);
    expect((await artifacts('messages', id)).stdout.split('\n')[0]).toContain(`\tuser\t${first?.content}`);
    expect((await artifacts('messages', id, '--all', '--limit', '2')).code).toBe(2);
  });

  it('are found by ID, by title or as @latest', async () => {
    const id = await createArtifact('title "The latest page"; runs');
    expect((await artifacts('get', 'The latest page', '-o', 'id')).stdout.trim()).toBe(id);
    expect((await artifacts('get', '@latest', '-o', 'id')).stdout.trim()).toBe(id);
    const similarResult = await artifacts('get', 'latest page');
    expect(similarResult.code).toBe(3);
    expect(similarResult.stderr).toContain('hint: Did you mean The latest page?');
    const copies = [await createArtifact('title Twice; runs'), await createArtifact('title Twice; runs')];
    const ambiguousResult = await artifacts('delete', 'Twice', '--yes');
    expect(ambiguousResult.code).toBe(2);
    for (const copy of copies) expect(ambiguousResult.stderr).toContain(copy);
    const emptyResult = await artifacts('get', '00000000-0000-4000-8000-000000000000', '--json');
    expect([emptyResult.code, errorOf(emptyResult).code]).toEqual([3, 'artifact_not_found']);
    expect(errorOf(emptyResult).hint).toBe('See the artifacts with `aops artifacts list`.');
  });

  it('attach and detach connections', async () => {
    await service.cli(['connections', 'create', 'crm', '--url', 'http://127.0.0.1:9/mcp']);
    const id = (await artifacts('create', 'runs', '--connection', 'crm', '--watch', '-o', 'id')).stdout.trim();
    expect((await artifacts('connections', 'list', id, '--json')).json<{ total: number }>().total).toBe(1);
    expect((await artifacts('connections', 'attach', id, 'crm')).code).toBe(6);
    expect((await artifacts('connections', 'detach', id, 'crm')).code).toBe(0);
    expect((await artifacts('connections', 'attach', id, 'crm')).stdout).toBe('Attached "crm".\n');
    expect((await artifacts('create', 'runs', '--connection', 'erp')).code).toBe(3);
  });
});

describe('a generation that', () => {
  it('asks a question without a terminal ends with exit 12 and shows the command to answer', async () => {
    const result = await artifacts('create', 'chart of runs', '--watch', '--json');
    expect(result).toMatchObject({ code: 12, stdout: '' });
    const { code, hint } = errorOf(result);
    expect(code).toBe('artifact_waiting_for_answer');
    const [, id] = /artifacts respond (\S+) /.exec(hint as string) ?? [];
    const answerResult = await artifacts('respond', id as string, '--answer', 'SOURCE', '--watch', '--json');
    expect(answerResult.json()).toMatchObject({ status: 'completed', title: 'Runs by source' });
    const repeatResult = await artifacts('respond', id as string, '--answer', 'source', '--json');
    expect([repeatResult.code, errorOf(repeatResult).code]).toEqual([6, 'question_not_pending']);
  });

  it('asks a question shows it until it is answered', async () => {
    const id = await createAskingArtifact();
    const result = await artifacts('get', id);
    expect(result.stdout).toMatch(/\nStatus\trunning\n[\s\S]*\nAsks\t"chart of runs": what should a bar chart of runs count by\?/);
    const question = (await artifacts('get', id, '--json')).json<{ pending_question: { questions: unknown[] } }>().pending_question;
    expect(question.questions).toHaveLength(1);
    await artifacts('respond', id, '--answer', 'agent', '--watch');
    expect((await artifacts('get', id, '--jq', '.pending_question')).stdout).toBe('null\n');
  });

  it('asks a question is answered from a file', async () => {
    const result = await artifacts('create', 'chart of runs; chart of human requests', '--answers', 'answers.yaml', '--json');
    expect(result.json()).toMatchObject({ status: 'completed', title: 'Runs by agent' });
    expect(result.stderr.match(/Answered from the answers file\./g)).toHaveLength(2);
  });

  it('receives an invalid answer lists the options', async () => {
    const id = await createAskingArtifact();
    const refusal = await artifacts('respond', id, '--answer', 'colour');
    expect(refusal).toMatchObject({ code: 2 });
    expect(refusal.stderr).toContain('The options are: status | agent');
  });

  it('is stopped ends with exit 11 for whoever watches it', async () => {
    const id = await createAskingArtifact();
    const followResult = artifacts('respond', id, '--answer', 'status', '--watch', '--json');
    expect((await followResult).code).toBe(0);
    const otherId = await createAskingArtifact();
    let onStarted: () => void = () => undefined;
    const startOfWait = new Promise<void>((resolve) => {
      onStarted = resolve;
    });
    const pendingResult = service.cli(['artifacts', 'send', otherId, 'usage', '--json']);
    expect((await pendingResult).code).toBe(6);
    const stoppedArtifact = (await artifacts('stop', otherId, '--json')).json<Artifact & Record<string, unknown>>();
    expect(stoppedArtifact.status).toBe('interrupted');
    const watchResult = service.cli(['artifacts', 'send', otherId, 'chart of runs', '--on-request', 'wait', '-o', 'ndjson'], {
      onOutput: (stdout) => stdout.includes('artifact.asking') && onStarted(),
    });
    await startOfWait;
    await artifacts('stop', otherId);
    const result = await watchResult;
    expect(result.code).toBe(11);
    expect(result.lines<ArtifactEvent>().at(-1)).toMatchObject({
      type: 'artifact.finished',
      data: { artifact: { status: 'interrupted' } },
    });
  });

  it('is stopped saves the part of the reply that had been displayed', async () => {
    const id = await createAskingArtifact();
    const emptyResult = await artifacts('stop', id, '--partial-text', '');
    expect([emptyResult.code, emptyResult.stderr]).toEqual([2, expect.stringContaining('--partial-text')]);
    expect((await artifacts('stop', id, '--partial-text', '@shown.txt', '--json')).json()).toMatchObject({ status: 'interrupted' });
    const messages = (await artifacts('messages', id, '--json')).json<{ data: { role: string; content: string }[] }>().data;
    expect(messages.filter(({ content }) => content === 'Here are the ru')).toHaveLength(1);
  });

  it('is not understood ends with exit 10 and explains what is understood', async () => {
    const result = await artifacts('create', 'make me a sandwich', '--watch');
    expect(result).toMatchObject({ code: 10, stdout: '' });
    expect(result.stderr).toMatch(/Not understood: "make me a sandwich".*understands:/s);
    const json = await artifacts('create', 'make me a sandwich', '--watch', '--json');
    expect(json.json()).toMatchObject({ status: 'failed', html_code_present: false });
    expect(errorOf(json).code).toBe('artifact_failed');
  });
});

describe('a page', () => {
  it('is printed byte for byte or written to a file', async () => {
    const id = await createArtifact('title "A <b>"; runs');
    const printResult = await artifacts('render', id);
    expect(printResult.stdout).toMatch(/^<!doctype html>\n/);
    expect(printResult.stdout).toContain('<h1>A &lt;b&gt;</h1>');
    expect((await service.cli(['api', 'GET', `artifacts/${id}/render`])).stdout).toBe(printResult.stdout);
    expect((await service.cli(['api', 'renderArtifact', '-f', `artifactId=${id}`])).stdout).toBe(printResult.stdout);
    await artifacts('send', id, 'remove 1; usage', '--watch');
    expect((await artifacts('render', id, '--revision', '1', '--file', 'one.html')).stderr).toContain('Wrote one.html');
    expect(await service.read('one.html')).toBe(printResult.stdout);
    expect((await artifacts('render', id, '--file', 'one.html')).code).toBe(2);
    expect((await artifacts('render', id, '--file', 'one.html', '--force')).code).toBe(0);
    expect(await service.read('one.html')).toContain('Plan usage');
  });

  it('is exported with a theme to a file or stdout', async () => {
    const id = await createArtifact('runs');
    const result = await artifacts('export', id, '--html', 'out/report.html', '--theme', 'dark', '--json');
    expect(result.json()).toEqual({ files: [{ file: 'out/report.html', bytes: (await service.read('out/report.html')).length }] });
    expect(await service.read('out/report.html')).toContain('data-theme="dark"');
    expect((await artifacts('export', id, '--html', '-')).stdout).toMatch(/^<!doctype html>/);
    expect((await artifacts('export', id)).code).toBe(2);
    expect((await artifacts('export', id, '--html', 'x', '--pdf', 'x')).code).toBe(2);
    expect((await artifacts('export', id, '--html', 'out/report.html')).code).toBe(2);
  });

  itNeeding(
    needsChromium,
    'is exported as PDF',
    async () => {
      const id = await createArtifact('runs');
      expect((await artifacts('export', id, '--pdf', 'report.pdf')).stdout).toBe('Wrote report.pdf\n');
      expect((await service.read('report.pdf')).slice(0, 5)).toBe('%PDF-');
      const terminalResult = await service.cli(['artifacts', 'export', id, '--pdf', '-'], { tty: true });
      expect(terminalResult).toMatchObject({ code: 2, stdout: '' });
    },
    60_000,
  );

  it('that has not been generated is reported, and no file is created', async () => {
    const id = await createAskingArtifact();
    for (const argv of [
      ['render', id, '--file', 'none.html'],
      ['export', id, '--html', 'none.html'],
    ]) {
      const result = await artifacts(...argv, '--json');
      expect([result.code, errorOf(result).code]).toEqual([3, 'artifact_not_generated']);
    }
    expect(await readdir(service.folder)).not.toContain('none.html');
  });

  it('is opened from a private folder, or its path is printed', async () => {
    const id = await createArtifact('runs');
    await mkdir(path.join(service.folder, 'tmp'), { recursive: true });
    const bin = path.dirname(await service.file('bin/xdg-open', `#!/bin/sh\necho "$1" > ${path.join(service.folder, 'opened')}\n`));
    await chmod(path.join(bin, 'xdg-open'), 0o755);
    const env = { TMPDIR: path.join(service.folder, 'tmp'), PATH: `${bin}:/usr/bin:/bin` };
    const pipedResult = await service.cli(['artifacts', 'open', id], { env: { ...env, DISPLAY: ':0' } });
    const file = pipedResult.stdout.trim();
    const page = await readFile(file, 'utf8');
    // The policy comes before everything that the service sends.
    expect(page).toMatch(
      /^<!doctype html>\n<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; [^"]*">\n<!doctype html>/,
    );
    // The browser chooses the theme.
    expect(page).not.toContain('<html lang="en" data-theme');
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    const bareResult = await service.cli(['artifacts', 'open', id], { env, tty: true });
    expect(bareResult.stdout.trim()).toMatch(/artifact\.html$/);
    if (process.platform !== 'linux') return;
    const result = await service.cli(['artifacts', 'open', id, '--theme', 'dark'], {
      env: { ...env, DISPLAY: ':0' },
      tty: true,
      columns: 200,
    });
    expect(result.stdout).toMatch(/^Opened .*artifact\.html\n$/);
    const openedTarget = await eventually('the opener', () =>
      service.read('opened').then(
        // The shell creates the file before it writes to it.
        (text) => text.trim() || undefined,
        () => undefined,
      ),
    );
    expect(await readFile(openedTarget, 'utf8')).toContain('data-theme="dark"');
    const failure = await service.cli(['artifacts', 'open', await createAskingArtifact()], { env });
    expect(failure.code).toBe(3);
    expect(await readdir(path.join(service.folder, 'tmp'))).toHaveLength(3);
  });
});
