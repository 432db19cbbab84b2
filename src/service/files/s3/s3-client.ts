/**
 * Requests to a bucket with the API of S3, which many other services offer too. Each is signed (AWS Signature Version 4), is repeated
 * if it fails for a reason that can pass, and ends if nothing arrives for a while.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { backoff } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { Agent, type Dispatcher } from '../../../base/undici.ts';
import { type CredentialsSource, readCredentials } from './credentials.ts';
import { refusal, S3Error } from './s3-error.ts';

/** Attempts of a request. */
const maxAttempts = 5;
/** Milliseconds without progress after which an attempt has failed. */
const stallLimit = 30_000;
/** Milliseconds for connecting. */
const connectLimit = 10_000;
/** Bytes of an answer in XML; a list of 1000 keys has less. */
const maxXml = 4 * 1024 * 1024;

export interface S3Options {
  bucket: string;
  /** Precedes all keys; empty, or with `/` at its end. */
  prefix: string;
  /** `https://host`; undefined for AWS itself. */
  endpoint: string | undefined;
  region: string;
  credentials: CredentialsSource;
  /** For the waits between attempts. */
  clock: Pick<Clock, 'sleep' | 'now'>;
  /** Random numbers from 0 to 1 for the same waits. */
  random?: () => number;
}

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Without the prefix; undefined for the bucket itself. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer;
  /** Statuses that are not failures, in addition to 2xx. */
  expects?: readonly number[];
}

export interface S3Response {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: Dispatcher.ResponseData['body'];
}

export class S3Client {
  readonly prefix: string;
  readonly #options: S3Options;
  readonly #base: string;
  readonly #agent = new Agent({
    headersTimeout: stallLimit,
    bodyTimeout: stallLimit,
    connect: { timeout: connectLimit },
    keepAliveTimeout: 4_000,
  });
  /** Keys derived from the secret, which are the same for a day. */
  readonly #signingKeys = new Map<string, ArrayBuffer>();

  constructor(options: S3Options) {
    this.#options = options;
    this.prefix = options.prefix;
    this.#base = bucketUrl(options);
  }

  /** Sends a request until it succeeds. The body of the response has to be read or destroyed. @throws S3Error */
  async send(request: S3Request): Promise<S3Response> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(request);
      } catch (error) {
        if (attempt === maxAttempts || !isTemporary(error)) throw error;
        await this.pause(attempt);
      }
    }
  }

  /** Sends a request whose answer is XML or empty, and returns it. A 200 can still be an error that happened later. @throws S3Error */
  async sendForXml(request: S3Request): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { status, body } = await this.#attempt(request);
        const xml = await readXml(body);
        if (status === 200 && /<Error>/.test(xml)) throw refusal({ method: request.method, status: 500, xml });
        return xml;
      } catch (error) {
        if (attempt === maxAttempts || !isTemporary(error)) throw error;
        await this.pause(attempt);
      }
    }
  }

  /** Waits before another attempt. @param failures so far */
  async pause(failures: number): Promise<void> {
    await this.#options.clock.sleep(backoff(failures - 1, this.#options.random ?? Math.random));
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #attempt({ method, key, query = {}, headers = {}, body, expects = [] }: S3Request): Promise<S3Response> {
    const url = new URL(key === undefined ? this.#base : `${this.#base}/${this.prefix}${key}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const signedHeaders = await this.#sign(url, method, headers, body);
    let response: S3Response & { statusCode: number };
    try {
      const {
        statusCode,
        headers,
        body: answer,
      } = await this.#agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers: signedHeaders,
        ...(body === undefined ? {} : { body }),
      });
      response = { status: statusCode, statusCode, headers, body: answer };
    } catch (error) {
      throw noAnswer(method, error);
    }
    const { status } = response;
    if ((status >= 200 && status < 300) || expects.includes(status)) return response;
    const xml = await readXml(response.body).catch(() => '');
    throw refusal({ method, status, xml, region: [response.headers['x-amz-bucket-region']].flat()[0] });
  }

  async #sign(url: URL, method: string, headers: Record<string, string>, body: Buffer | undefined): Promise<Record<string, string>> {
    const credentials = await readCredentials(this.#options.credentials);
    const content = body ?? Buffer.alloc(0);
    const signer = new AwsV4Signer({
      ...{ method, url: url.href, service: 's3', region: this.#options.region, cache: this.#signingKeys },
      ...{ accessKeyId: credentials.accessKeyId, secretAccessKey: credentials.secretAccessKey },
      ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken }),
      datetime: new Date(this.#options.clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
      headers: {
        ...headers,
        // The server refuses a body that has another digest. Servers that ignore one of them know the other one.
        'x-amz-content-sha256': createHash('sha256').update(content).digest('hex'),
        ...(body === undefined ? {} : { 'content-md5': createHash('md5').update(content).digest('base64') }),
      },
    });
    const signed = await signer.sign();
    return { ...Object.fromEntries(signed.headers), 'user-agent': 'aops' };
  }
}

/** Where a bucket is: AWS has a host for each one, unless no certificate covers its name; others accept it as a part of the path. */
export function bucketUrl({ bucket, endpoint, region }: Pick<S3Options, 'bucket' | 'endpoint' | 'region'>): string {
  if (endpoint !== undefined) return `${endpoint}/${bucket}`;
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  return bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
}

/** The problems that another attempt might not have. */
const temporaryProblems = ['RequestTimeout', 'SlowDown', 'InternalError', 'ServiceUnavailable', 'BadDigest', 'XAmzContentSHA256Mismatch'];

export const isTemporary = (error: unknown): boolean =>
  error instanceof S3Error &&
  (error.status === undefined || error.status >= 500 || error.status === 429 || temporaryProblems.includes(error.problem ?? ''));

const noAnswer = (method: string, cause: unknown): S3Error => {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new S3Error(`the bucket did not answer ${method} (${code ?? message})`, { cause });
};

async function readXml(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > maxXml) throw new S3Error('the answer of the bucket is too long');
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof S3Error ? error : noAnswer('a request completely', error);
  }
  return Buffer.concat(chunks).toString();
}
