/** The input and the results of handlers. */
import type { Buffer } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { OperationId, operationGroups } from '../../interface/operations.ts';
import type { Body, Params, Query, Response } from '../../interface/types.ts';
import type { Engine } from '../engine/engine.ts';
import type { ChangeFeed } from '../events/change-feed.ts';
import type { StreamSlots } from '../events/stream-slots.ts';
import type { Grant, UrlSigner } from '../signed-urls.ts';
import type { RunFileRow } from '../store/database/schema.ts';
import { listRunFiles } from '../store/runs/run-files.ts';
import type { Answer } from './answer.ts';
import type { Caller } from './authenticate.ts';
import type { Lifetime } from './lifetime.ts';

/** An authenticated request. */
export interface RequestContext extends Caller {
  readonly engine: Engine;
  readonly signer: UrlSigner;
  readonly requestId: string;
  /** The address at which the caller reached the service: `http://127.0.0.1:4000`. */
  readonly baseUrl: string;
  /** How long it makes sense to work on a request that changes nothing. */
  readonly lifetime: Lifetime;
}

/** An answer with a status other than the operation's default, or with headers. */
export class Reply<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Record<string, string>;

  constructor(status: number, body: T, headers: Record<string, string> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** An answer that is not JSON, such as a page or a file, with its headers. Bytes may be a stream. */
export class MediaReply<T> extends Reply<T> {
  constructor(body: T, headers: Record<string, string>) {
    super(200, body, headers);
  }
}

/** Query values with a default are always present. */
export interface HandlerInput<Id extends OperationId> {
  readonly params: Params<Id>;
  readonly query: Query<Id>;
  readonly body: Body<Id>;
}

export type Handler<Id extends OperationId> = (
  context: RequestContext,
  input: HandlerInput<Id>,
) => Promise<Response<Id> | Reply<Response<Id>>>;

/** A handler for every operation of a group; a missing one is a type error. */
export type GroupRoutes<Group extends keyof typeof operationGroups> = {
  readonly [Id in keyof (typeof operationGroups)[Group] & OperationId]: Handler<Id>;
};

/** Calls an operation as the caller of a request, validating its input as for a request over HTTP. Throws ServiceError. */
export type CallOperation = <Id extends OperationId>(
  id: Id,
  input: { params?: Record<string, string>; query?: Record<string, string | number | boolean | undefined>; body?: unknown },
) => Promise<Response<Id>>;

/** A request to an operation that uses its own protocol over HTTP: its handler gets the bytes and returns the whole answer. */
export interface RawRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly search: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Whether the request has an Idempotency-Key: only an answer that is not a stream can be stored under it. */
  readonly hasKey: boolean;
  /** Aborted when the client disconnects or the service stops. */
  readonly signal: AbortSignal;
  readonly call: CallOperation;
  /** Whether the caller still has permission: its token may expire or be revoked while it is answered. */
  readonly isAllowed: () => Promise<boolean>;
  readonly streams: Streams;
}

/** Shared by all event streams. */
export interface Streams {
  readonly feed: ChangeFeed;
  readonly slots: StreamSlots;
  /** Milliseconds between the comments that keep a quiet stream open. */
  readonly heartbeatMilliseconds: number;
}

export type RawHandler = (context: RequestContext, request: RawRequest) => Promise<Answer>;

/** A URL that grants its bearer access for a limited time. */
export function signedUrl(context: RequestContext, grant: Grant): { url: string; expiresAt: string } {
  const { token, expiresAt } = context.signer.sign(grant, context.engine.clock.now());
  const section = grant.kind === 'upload' ? 'uploads' : 'files';
  return { url: `${context.baseUrl}/${section}/${token}`, expiresAt: new Date(expiresAt).toISOString() };
}

/** The URL of a run file. It ends with the file's name, which is used when the file is saved. */
export function fileUrl(context: RequestContext, file: RunFileRow): { url: string; expiresAt: string } {
  const { url, expiresAt } = signedUrl(context, { kind: 'run_file', runId: file.run_id, fileId: file.id });
  return { url: `${url}/${encodeURIComponent(file.name)}`, expiresAt };
}

/** The URLs of all files of a run, by their IDs. */
export async function runPictures(context: RequestContext, runId: string): Promise<Map<string, { signedUrl: string; expiresAt: string }>> {
  const files = await listRunFiles(context.engine.store, runId);
  return new Map(
    files.map((file) => {
      const { url, expiresAt } = fileUrl(context, file);
      return [file.id, { signedUrl: url, expiresAt }];
    }),
  );
}
