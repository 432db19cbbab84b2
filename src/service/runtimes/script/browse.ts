/**
 * The browse step: a list of actions in a browser. Each action becomes visible as a separate tool call, with pictures before and
 * after it. The step is journalled as a whole: an interrupted step starts again with its first action.
 */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { parseDuration } from '../../../base/duration.ts';
import { shorten } from '../../../base/values.ts';
import { type ActionOutcome, type BrowserAction, isSecret, perform, publicUrl } from '../../browser/actions.ts';
import { type BrowserSession, blankUrl, defaultViewport } from '../../browser/session.ts';
import { ServiceError } from '../../errors.ts';
import { hostTrouble } from '../../host-trouble.ts';
import { mimeTypeOf } from '../../sandbox/file-kind.ts';
import type { RunPicture, RuntimeEvent } from '../run-host.ts';
import { texts } from './rendering/parts.ts';
import { defaultBrowse, type Payload, type StepOf } from './schema.ts';
import { nameOf, StepError, type StepOutcome, type Turn } from './turn.ts';

/** The maximum size of a file that is uploaded or downloaded, in bytes. */
const uploadLimit = 10 * 1024 * 1024;
const downloadLimit = 100 * 1024 * 1024;
/** The number of characters of a title and of a URL that are shown. Pages can make them as long as they like. */
const maxTitleLength = 1_000;
const maxUrlLength = 8_000;
const toolName = 'browser';

type Action = NonNullable<Payload<'browse'>['actions']>[number];

/** The result that later steps can read. */
interface Result {
  url: string | null;
  title: string | null;
  /** HTTP status of the page that was opened most recently. */
  status: number | null;
  extracted: Record<string, unknown>;
  /** Files of the workspace. */
  downloads: { path: string; size: number }[];
  console_errors: string[];
  /** With `on_error: continue`, why the step stopped early; null when it did not. */
  error: string | null;
}

export async function browse(step: StepOf<'browse'>, turn: Turn): Promise<StepOutcome> {
  const { payload } = step;
  if (turn.host.browsing.policy === 'off') {
    throw new StepError(
      `${nameOf(step)} opens a browser, which this service does not allow. Start it with \`aops serve --browse on\`, or with \`--browse public\` to allow public addresses only.`,
    );
  }
  // Rendered before the first action: only later steps can use what an action finds.
  const templates: Action[] = [...(payload.url === undefined ? [] : [{ open: payload.url }]), ...(payload.actions ?? [])];
  const { actions } = await turn.render(step, { actions: texts(templates) });
  const session = await turn.browser();
  session.pages.acceptDialogs = payload.dialogs === 'accept';
  await session.resize(payload.viewport ?? defaultViewport);
  if (actions[0]?.open === undefined && !(await session.resume()))
    throw new StepError(`${nameOf(step)} has no page to continue with; give it a \`url\`.`);
  const result: Result = { url: null, title: null, status: null, extracted: {}, downloads: [], console_errors: [], error: null };
  const browsing = new Browsing(step, turn, session, result);
  let error: string | undefined;
  for (const [index, action] of actions.entries()) {
    error = await browsing.act(action, index + 1);
    turn.host.signal.throwIfAborted();
    if (error !== undefined) break;
  }
  if (!session.isOver) await session.keep();
  if (error === undefined) return { entry: { result } };
  const entry = { result: { ...result, error } };
  return payload.on_error === 'continue'
    ? { entry }
    : { entry: { ...entry, ends: { status: 'failed', error: `${nameOf(step)}: ${error}.` } } };
}

/** One execution of a step. */
class Browsing {
  readonly #step: StepOf<'browse'>;
  readonly #turn: Turn;
  readonly #session: BrowserSession;
  readonly #result: Result;
  readonly #timeoutMs: number;

  constructor(step: StepOf<'browse'>, turn: Turn, session: BrowserSession, result: Result) {
    this.#step = step;
    this.#turn = turn;
    this.#session = session;
    this.#result = result;
    this.#timeoutMs = parseDuration(step.payload.timeout ?? '') ?? defaultBrowse;
  }

  /** Performs an action and reports it. Returns the error if it failed. */
  async act(action: Action, number: number): Promise<string | undefined> {
    const { host } = this.#turn;
    const id = `${this.#step.key}:${number}`;
    const [kind, payload] = Object.entries(action)[0] as [keyof Action, Action[keyof Action]];
    const { refusal, ...args } = await this.#describe(action, kind, payload);
    await host.emit([{ kind: 'tool_call', id: `${id}:call`, name: toolName, arguments: { action: kind, ...args } }]);
    const before = await this.#pictureBefore(id, number);
    const startedAt = new Date(host.clock.now());
    const { error, ...outcome } = await this.#attempt(action, kind, refusal);
    host.signal.throwIfAborted();
    const image = await this.#picture(id, `${this.#step.number}-${number}-${kind}.png`, kind === 'screenshot');
    const page = await this.#page();
    Object.assign(this.#result, page);
    const consoleErrors = this.#session.pages.takeErrors();
    this.#result.console_errors.push(...consoleErrors);
    const call = {
      // What it found comes first, because the rest might be cut off on display.
      ...outcome,
      ...page,
      ...(kind === 'screenshot' && image !== undefined && 'bytes' in image ? { mime_type: image.mimeType, size: image.bytes.length } : {}),
      ...(consoleErrors.length === 0 ? {} : { console_errors: consoleErrors }),
    };
    const events: RuntimeEvent[] = [
      {
        kind: 'tool_result',
        id: `${id}:result`,
        callId: `${id}:call`,
        result: call,
        ...(error === undefined ? {} : { error }),
        ...(kind === 'screenshot' ? { screenshot: id } : {}),
      },
      {
        kind: 'screenshot',
        id,
        toolName,
        action: kind,
        startedAt,
        endedAt: new Date(host.clock.now()),
        input: { ...args, ...page },
        ...(error === undefined ? {} : { error }),
        ...(before === undefined ? {} : { before }),
        ...(image === undefined ? {} : { image }),
      },
    ];
    await host.emit(events);
    return error;
  }

  /** @param refusal why it cannot be performed, if that is already clear */
  async #attempt(action: Action, kind: keyof Action, refusal: unknown): Promise<Record<string, unknown> & { error?: string }> {
    try {
      if (refusal !== undefined) throw refusal;
      const outcome = await perform(this.#session, await this.#ready(action), this.#timeoutMs);
      return await this.#note(action, outcome);
    } catch (error) {
      // A problem of the host says nothing about the page; the step is repeated.
      if (hostTrouble(error) !== undefined) throw error;
      // The step fails if the browser ended on its own, with a message of its own, because the page is not at fault.
      if (error instanceof ServiceError) return { error: error.message };
      if (this.#session.isOver) return { error: `the browser ended during \`${kind}\`` };
      return { error: `\`${kind}\` failed: ${error instanceof Error ? (error.message.split('\n', 1)[0] as string) : String(error)}` };
    }
  }

  /** Records what an action found, and returns it. */
  async #note(action: Action, outcome: ActionOutcome): Promise<Record<string, unknown>> {
    if (outcome.status !== undefined) this.#result.status = outcome.status;
    if (action.open !== undefined) return { status: outcome.status ?? null };
    if (action.extract !== undefined) {
      this.#result.extracted[action.extract.name] = outcome.value ?? null;
      return { name: action.extract.name, value: outcome.value ?? null };
    }
    const { download } = outcome;
    if (download === undefined) return {};
    await this.#session.waitForDownload(download, { timeoutMs: this.#timeoutMs, limit: downloadLimit });
    const target = action.download?.path ?? `downloads/${plainName(download.suggestedFilename())}`;
    const file = await this.#turn.host.sandbox.write(target, await download.createReadStream(), { limit: downloadLimit });
    await download.delete();
    this.#result.downloads.push(file);
    return file;
  }

  /** An action in the form that the browser expects. */
  async #ready(action: Action): Promise<BrowserAction> {
    if (action.open !== undefined) return { kind: 'open', url: action.open };
    if (action.click !== undefined) return { kind: 'click', selector: action.click };
    if (action.fill !== undefined) return { kind: 'fill', ...action.fill };
    if (action.press !== undefined) return { kind: 'press', key: action.press };
    if (action.select !== undefined) return { kind: 'select', ...action.select };
    if (action.wait_for !== undefined) return { kind: 'wait_for', ...action.wait_for };
    if (action.extract !== undefined) return { kind: 'extract', ...action.extract };
    if (action.download !== undefined) return { kind: 'download', selector: action.download.click };
    if (action.upload === undefined) return { kind: 'screenshot' };
    const { entry, bytes, truncated } = await this.#turn.host.sandbox.read(action.upload.path, uploadLimit);
    if (truncated) throw new ServiceError(413, 'file_too_large', `the file ${entry.path} is larger than 10 MiB`);
    const file = { name: entry.name, mimeType: mimeTypeOf(entry.name) ?? 'application/octet-stream', buffer: bytes };
    return { kind: 'upload', selector: action.upload.selector, file };
  }

  /** The arguments of an action without secrets; `refusal` if they show that it cannot be performed. */
  async #describe(
    action: Action,
    kind: keyof Action,
    payload: Action[keyof Action],
  ): Promise<Record<string, unknown> & { refusal?: unknown }> {
    if (action.fill !== undefined) {
      const { selector, text } = action.fill;
      try {
        return { selector, text: (await isSecret(this.#session, selector, this.#timeoutMs)) ? '(hidden)' : text };
      } catch (refusal) {
        return { selector, text: '(hidden)', refusal };
      }
    }
    if (action.open !== undefined) return { address: publicUrl(action.open) };
    if (action.screenshot !== undefined) return { caption: action.screenshot };
    if (kind === 'wait_for') return { for: Object.values(payload as object)[0], by: Object.keys(payload as object)[0] };
    if (action.download !== undefined) return { selector: action.download.click };
    if (typeof payload === 'string') return { [kind === 'press' ? 'key' : 'selector']: payload };
    return { ...(payload as object) };
  }

  async #page(): Promise<{ url: string; title: string } | object> {
    const { current: page } = this.#session.pages;
    if (page.url() === blankUrl) return {};
    return { url: shorten(publicUrl(page.url()), maxUrlLength), title: shorten(await this.#session.title(), maxTitleLength) };
  }

  /** What was visible after the previous action, or a new picture for the first action of the step. */
  async #pictureBefore(id: string, number: number): Promise<RunPicture | undefined> {
    const { lastPicture } = this.#session;
    if (number > 1 && lastPicture !== undefined) return { of: lastPicture.eventId };
    return await this.#picture(`${id}:before`, `${this.#step.number}-${number}-before.png`);
  }

  /** A picture of the page: the previous one if nothing has changed since, unless the procedure requested a picture. */
  async #picture(eventId: string, name: string, isRequested = false): Promise<RunPicture | undefined> {
    const isFullPage = isRequested && this.#step.payload.full_page === true;
    const bytes = await this.#session.picture(isFullPage);
    if (bytes === undefined) {
      this.#session.lastPicture = undefined;
      return undefined;
    }
    const digest = createHash('sha256').update(bytes).digest('hex');
    const { lastPicture } = this.#session;
    if (!isRequested && lastPicture?.digest === digest) return { of: lastPicture.eventId };
    // The next action starts with what is in view.
    if (!isFullPage) this.#session.lastPicture = { digest, eventId };
    return { name, mimeType: 'image/png', bytes };
  }
}

/** A safe version of the name that a page suggests for a file. */
function plainName(suggestedName: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they do not belong in a file name
  const name = path.posix.basename(suggestedName.replaceAll('\\', '/')).replace(/[\x00-\x1f\x7f]/g, '_');
  return ['', '.', '..'].includes(name) ? 'download' : name;
}
