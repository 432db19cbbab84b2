/** Errors that the service responds with: a status that the interface allows, a stable error code, and a message. */
import type { ErrorBody } from '../interface/types.ts';

export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 429 | 500 | 503;

export type ErrorDetail = NonNullable<ErrorBody['details']>[number];

/** Thrown anywhere in the service; the pipeline turns it into `{error, message, details?}` (interface part 7). */
export class ServiceError extends Error {
  readonly status: ErrorStatus;
  /** The value of the `error` property, in snake_case. */
  readonly error: string;
  readonly details: ErrorDetail[] | undefined;
  /** The scope that the credential lacks. */
  readonly scope: string | undefined;
  readonly headers: Record<string, string>;

  constructor(
    status: ErrorStatus,
    error: string,
    message: string,
    options: { details?: ErrorDetail[]; scope?: string; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.name = 'ServiceError';
    this.status = status;
    this.error = error;
    this.details = options.details;
    this.scope = options.scope;
    this.headers = options.headers ?? {};
  }
}

export const notFound = (resource: string, id: string): ServiceError =>
  new ServiceError(404, `${resource.replaceAll(' ', '_')}_not_found`, `There is no ${resource} ${id}.`);
