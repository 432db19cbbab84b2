/** Failures of requests to a bucket. */

/** A request that the bucket has refused, or that failed although it was repeated. The message contains nothing that the server wrote freely. */
export class S3Error extends Error {
  /** Whatever the reason, the operator of the service has to look into it, and what failed can be repeated afterwards. */
  readonly code = 'FILES_UNAVAILABLE';
  /** The HTTP status; undefined if there was no answer. */
  readonly status: number | undefined;
  /** What the server calls the problem, such as `NoSuchBucket`. */
  readonly problem: string | undefined;

  constructor(message: string, { status, problem, cause }: { status?: number; problem?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'S3Error';
    this.status = status;
    this.problem = problem;
  }
}

const advice: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket does not exist',
  AccessDenied: 'the credentials do not permit it',
  InvalidAccessKeyId: 'the access key is unknown',
  SignatureDoesNotMatch: 'the secret access key is wrong, or the endpoint is behind a proxy that changes requests',
  ExpiredToken: 'the session token has expired',
  InvalidToken: 'the session token is not valid',
  RequestTimeTooSkewed: 'the clock of this machine is wrong',
  AuthorizationHeaderMalformed: 'the region is wrong',
  PermanentRedirect: 'the bucket is in another region, or has another endpoint',
  NoSuchUpload: 'the upload was removed before it was complete',
};

/** @param xml the body of the answer, which may be empty */
export function refusal({
  method,
  status,
  xml,
  region,
}: {
  method: string;
  status: number;
  xml: string;
  region?: string | undefined;
}): S3Error {
  const problem = /<Code>(\w{1,50})<\/Code>/.exec(xml)?.[1];
  const known = problem === undefined ? (status === 403 ? advice.AccessDenied : undefined) : advice[problem];
  const isElsewhere = [301, 307, 308, 400].includes(status) && region !== undefined && /^[a-z0-9-]{1,40}$/.test(region);
  const reasons = [known, isElsewhere ? `the bucket is in the region ${region}` : undefined].filter((reason) => reason !== undefined);
  const name = problem === undefined ? `${status}` : `${status} ${problem}`;
  return new S3Error(`the bucket answered ${method} with ${name}${reasons.length === 0 ? '' : `: ${reasons.join('; ')}`}`, {
    status,
    problem,
  });
}
