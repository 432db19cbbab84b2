/**
 * A bucket in memory with the API of S3: objects, parts of uploads, and lists in pages. It verifies the signature of every request with
 * the signer of aws4fetch, and the digests of bodies. Single requests can be made to fail.
 */
import { Buffer } from 'node:buffer';
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { AwsV4Signer } from 'aws4fetch';
import { afterTest } from './temporary.ts';

export const credentials = { accessKeyId: 'AKIDTEST', secretAccessKey: 'a secret + / key', sessionToken: 'a/session+token==' };
export const bucket = 'files.test';
/** Objects per page of a list. */
const pageSize = 3;

/** What happens to a request instead of, or after, its execution. */
export type Fault =
  /** Answers without executing it. */
  | { status: number; code?: string; headers?: Record<string, string> }
  /** Ends the connection before it is executed, or after it was executed and before the answer. */
  | 'cut'
  | 'lost'
  /** Ends the connection in the middle of the body of the answer. */
  | 'cut body'
  /** Sends an answer whose body is shorter, with the size of what is sent. */
  | 'short body'
  /** Answers 200, and reports an error in the body. */
  | 'late error';

interface Upload {
  key: string;
  parts: Map<number, { tag: string; body: Buffer }>;
}

export class S3Server {
  readonly endpoint: string;
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, Upload>();
  /** All requests, such as `PUT /a/b?partNumber`. */
  readonly requests: string[] = [];
  /** The smallest part of an upload, except for the last one, in bytes. */
  minPartLength = 5 * 1024 * 1024;
  readonly #faults: { pattern: RegExp; fault: Fault; count: number }[] = [];

  private constructor(port: number) {
    this.endpoint = `http://127.0.0.1:${port}`;
  }

  /** Listens until the end of the test. */
  static async start(): Promise<S3Server> {
    const server = createServer((request, response) => void s3.#handle(request, response).catch(() => response.destroy()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const s3 = new S3Server((server.address() as AddressInfo).port);
    afterTest(() => {
      server.closeAllConnections();
      server.close();
    });
    return s3;
  }

  /** Makes the next requests that match fail; `requests` shows what they look like. */
  fail(pattern: RegExp, fault: Fault, count = 1): void {
    this.#faults.push({ pattern, fault, count });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.endpoint);
    const name = `${request.method} ${url.pathname.slice(bucket.length + 1)}${url.search === '' ? '' : `?${[...url.searchParams.keys()].join('&')}`}`;
    this.requests.push(name);
    const planned = this.#faults.find(({ pattern, count }) => count > 0 && pattern.test(name));
    if (planned !== undefined) planned.count -= 1;
    const fault = planned?.fault;
    if (fault === 'cut') return void request.socket.destroy();
    const body = await buffer(request);
    if (typeof fault === 'object')
      return answer(response, { status: fault.status, body: errorXml(fault.code ?? 'InternalError'), headers: fault.headers ?? {} });
    if (fault === 'late error') return answer(response, { status: 200, body: errorXml('InternalError') });
    const result = (await refusalOf(request, url, body)) ?? this.#execute(request, url, body);
    if (fault === 'lost') return void request.socket.destroy();
    if (fault === 'short body') result.body = result.body.subarray(0, Math.floor(result.body.length / 2));
    if (fault !== 'cut body') return answer(response, result, request.method === 'HEAD');
    response.writeHead(result.status, { ...result.headers, 'content-length': result.body.length });
    response.write(result.body.subarray(0, Math.floor(result.body.length / 2)), () => request.socket.destroy());
  }

  #execute(request: IncomingMessage, url: URL, body: Buffer): Result {
    const [, name, ...rest] = url.pathname.split('/');
    if (name !== bucket) return failure(404, 'NoSuchBucket');
    const key = rest.map(decodeURIComponent).join('/');
    const query = url.searchParams;
    const uploadId = query.get('uploadId') ?? '';
    switch (`${request.method}${query.has('uploads') ? ' uploads' : query.has('uploadId') ? ' upload' : ''}`) {
      case 'GET uploads':
        return xml(this.#listUploads(query.get('prefix') ?? ''));
      case 'POST uploads': {
        const id = `${randomUUID()}+/=`;
        this.uploads.set(id, { key, parts: new Map() });
        return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
      }
      case 'PUT upload': {
        const upload = this.uploads.get(uploadId);
        if (upload === undefined) return failure(404, 'NoSuchUpload');
        const tag = `"${createHash('md5').update(body).digest('hex')}"`;
        upload.parts.set(Number(query.get('partNumber')), { tag, body });
        return { status: 200, headers: { etag: tag }, body: Buffer.alloc(0) };
      }
      case 'POST upload':
        return this.#complete(uploadId, body.toString());
      case 'DELETE upload':
        return this.uploads.delete(uploadId) ? { status: 204, body: Buffer.alloc(0) } : failure(404, 'NoSuchUpload');
      case 'PUT':
        this.objects.set(key, body);
        return { status: 200, body: Buffer.alloc(0) };
      case 'DELETE':
        this.objects.delete(key);
        return { status: 204, body: Buffer.alloc(0) };
      case 'HEAD':
        return this.objects.has(key) ? { status: 200, body: this.objects.get(key) as Buffer } : { status: 404, body: Buffer.alloc(0) };
      default:
        return key === '' ? xml(this.#list(query)) : this.#get(key, request.headers.range);
    }
  }

  #get(key: string, range: string | undefined): Result {
    const object = this.objects.get(key);
    if (object === undefined) return failure(404, 'NoSuchKey');
    if (range === undefined) return { status: 200, body: object };
    const [, start = '', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? [];
    if (Number(start) >= object.length) return failure(416, 'InvalidRange');
    return { status: 206, body: object.subarray(Number(start), end === '' ? undefined : Number(end) + 1) };
  }

  #list(query: URLSearchParams): string {
    const after = query.get('continuation-token') ?? '';
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after).sort();
    const page = keys.slice(0, Math.min(pageSize, Number(query.get('max-keys') ?? pageSize)));
    const entries = page.map(
      (key) => `<Contents><Key>${encodeURIComponent(key)}</Key><Size>${this.objects.get(key)?.length}</Size></Contents>`,
    );
    const next = page.length < keys.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    return `<ListBucketResult>${entries.join('')}<IsTruncated>${next !== ''}</IsTruncated>${next}</ListBucketResult>`;
  }

  #listUploads(prefix: string): string {
    const uploads = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix));
    return `<ListMultipartUploadsResult>${uploads.map(([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`).join('')}</ListMultipartUploadsResult>`;
  }

  #complete(uploadId: string, order: string): Result {
    const upload = this.uploads.get(uploadId);
    if (upload === undefined) return failure(404, 'NoSuchUpload');
    const parts = [...order.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>(.*?)<\/ETag>/g)].map(([, number, tag = '']) => {
      const part = upload.parts.get(Number(number));
      return part?.tag === tag.replaceAll('&#34;', '"') ? part.body : undefined;
    });
    if (parts.length === 0 || parts.includes(undefined)) return failure(400, 'InvalidPart');
    if (parts.slice(0, -1).some((part) => (part as Buffer).length < this.minPartLength)) return failure(400, 'EntityTooSmall');
    this.objects.set(upload.key, Buffer.concat(parts as Buffer[]));
    this.uploads.delete(uploadId);
    return xml('<CompleteMultipartUploadResult/>');
  }
}

interface Result {
  status: number;
  body: Buffer;
  headers?: Record<string, string>;
}

const xml = (text: string): Result => ({ status: 200, body: Buffer.from(`<?xml version="1.0"?>${text}`) });
const errorXml = (code: string): Buffer => Buffer.from(`<Error><Code>${code}</Code><Message>\u001b[31mfrom the server</Message></Error>`);
const failure = (status: number, code: string): Result => ({ status, body: errorXml(code) });

function answer(response: ServerResponse, { status, body, headers = {} }: Result, isHead = false): void {
  response.writeHead(status, { 'content-length': body.length, ...headers });
  response.end(isHead ? undefined : body);
}

/** Why a request is not authentic, or its body not complete. */
async function refusalOf(request: IncomingMessage, url: URL, body: Buffer): Promise<Result | undefined> {
  const { headers } = request;
  if (headers['x-amz-security-token'] !== credentials.sessionToken) return failure(403, 'InvalidToken');
  const [, date = '', region = '', names = ''] =
    /^AWS4-HMAC-SHA256 Credential=AKIDTEST\/(\d{8})\/([\w-]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=[0-9a-f]{64}$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  const datetime = String(headers['x-amz-date']);
  if (!datetime.startsWith(date) || date === '') return failure(403, 'AccessDenied');
  const signedNames = names.split(';').filter((name) => !['host', 'x-amz-date', 'x-amz-security-token'].includes(name));
  const signer = new AwsV4Signer({
    ...{ ...credentials, method: request.method ?? '', url: url.href, service: 's3', region, datetime },
    headers: Object.fromEntries(signedNames.map((name) => [name, String(headers[name])])),
  });
  if ((await signer.authHeader()) !== headers.authorization) return failure(403, 'SignatureDoesNotMatch');
  if (createHash('sha256').update(body).digest('hex') !== headers['x-amz-content-sha256']) return failure(400, 'XAmzContentSHA256Mismatch');
  const md5 = headers['content-md5'];
  if (md5 !== undefined && createHash('md5').update(body).digest('base64') !== md5) return failure(400, 'BadDigest');
  return undefined;
}
