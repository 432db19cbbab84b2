/** The OpenAPI 3.1 description of the interface, generated from the contract. Pure. */
import { interfaceVersion } from '../base/version.ts';
import { NamedSchemas } from './named-schemas.ts';
import type { Operation } from './operation.ts';
import { type OperationId, operation, operationGroups } from './operations.ts';
import { ErrorBody } from './schemas/common.ts';
import { PrintedEvent, printedEventVersion } from './schemas/printed-events.ts';
import { schemasOf } from './schemas.ts';
import { isScope, operationAccess, scopeMeanings } from './scopes.ts';

type Json = Record<string, unknown>;

const errorResponses: Record<string, string> = {
  '400': 'Invalid request',
  '401': 'Unauthorized',
  '403': 'Forbidden',
  '404': 'Not found',
  '409': 'Conflict',
  '429': 'Rate limit exceeded',
  '500': 'Internal error',
};

const rateLimitHeaders: Record<string, Json> = {
  'RateLimit-Limit': { description: 'Requests in a window.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests that remain in this window.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Unix timestamp when the window resets.', schema: { type: 'integer' } },
};

const headerReferences = Object.fromEntries(Object.keys(rateLimitHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/**
 * The document, as an object ready to be written as JSON.
 * @param baseUrl where the service is, without a trailing slash, so that a saved document identifies its service
 */
export function openApiDocument(baseUrl: string): Json {
  const namedSchemas = new NamedSchemas();
  const error = namedSchemas.withReferences(ErrorBody);
  const pathItems = paths(namedSchemas);
  const printedEvent = namedSchemas.withReferences(PrintedEvent);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent operations',
      version: interfaceVersion,
      description: 'Agents, their runs, and the people who answer them.',
    },
    servers: [{ url: baseUrl }],
    security: [{ bearer: [] }, { oauth2: [] }],
    'x-team-page': `${baseUrl}/`,
    tags: Object.keys(operationGroups).map((name) => ({ name })),
    paths: pathItems,
    'x-printed-events': {
      description: 'What the command line prints with -o ndjson when it watches something, one event on each line.',
      version: printedEventVersion,
      schema: printedEvent,
    },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A token issued by the workspace, which can be limited to scopes.' },
        oauth2: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: `${baseUrl}/oauth/token`, scopes: scopeMeanings } } },
      },
      headers: {
        ...rateLimitHeaders,
        'Retry-After': { description: 'Seconds until the request may be sent again.', schema: { type: 'integer' } },
        'Idempotency-Replayed': {
          description: 'The response was first sent for an earlier request with this key.',
          schema: { type: 'string', const: 'true' },
        },
      },
      parameters: {
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: 'Makes retries safe: within 24 hours, 2xx and 4xx responses are replayed to the same request with the same key.',
          schema: { type: 'string', minLength: 1, maxLength: 255 },
        },
      },
      schemas: namedSchemas.all(),
      responses: Object.fromEntries(
        Object.entries(errorResponses).map(([status, description]) => [`Error${status}`, errorResponse(status, description, error)]),
      ),
    },
  };
}

function paths(namedSchemas: NamedSchemas): Json {
  const result: Record<string, Json> = {};
  for (const [group, rows] of Object.entries(operationGroups)) {
    for (const id of Object.keys(rows) as OperationId[]) {
      const row = operation(id);
      result[row.path] = { ...result[row.path], [row.method.toLowerCase()]: describe(id, row, group, namedSchemas) };
    }
  }
  return result;
}

function describe(id: OperationId, row: Operation, group: string, namedSchemas: NamedSchemas): Json {
  const { query, body, response } = schemasOf(id);
  const required = new Set((query?.required as string[] | undefined) ?? []);
  const parameters = [
    ...[...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required: required.has(name),
      schema: namedSchemas.withReferences(schema),
    })),
    ...(row.idempotent ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ];
  return {
    operationId: id,
    summary: row.summary,
    tags: [group],
    ...(row.extension ? { 'x-extension': true } : {}),
    ...security(id),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(row, body, namedSchemas) }),
    responses: {
      [row.success]: {
        description: 'Success',
        headers: {
          ...headerReferences,
          ...(row.idempotent ? { 'Idempotency-Replayed': { $ref: '#/components/headers/Idempotency-Replayed' } } : {}),
        },
        // Bytes are described only by their media type (OpenAPI 3.1, 4.8.14.1).
        content: {
          [row.produces ?? 'application/json']: row.produces === 'application/pdf' ? {} : { schema: namedSchemas.withReferences(response) },
        },
      },
      ...Object.fromEntries(Object.keys(errorResponses).map((status) => [status, { $ref: `#/components/responses/Error${status}` }])),
    },
  };
}

/** What an operation requires of the credential, if more than any credential. */
function security(id: OperationId): Json {
  const access = operationAccess[id];
  if (access === 'any') return {};
  if (isScope(access)) return { security: [{ bearer: [] }, { oauth2: [access] }] };
  const requirement = access === 'owner' ? 'the credential of the data directory' : 'a credential that is not limited to scopes';
  return { security: [{ bearer: [] }], description: `Needs ${requirement}.` };
}

function requestBody(row: Operation, body: { required?: unknown }, namedSchemas: NamedSchemas): Json {
  // If none of its properties is required, the body is optional.
  const required = Array.isArray(body.required) && body.required.length > 0;
  if (row.request === undefined) return { required, content: { 'application/json': { schema: namedSchemas.withReferences(body) } } };
  // An archive is not a form: it is all of the body.
  if (row.request !== 'multipart/form-data')
    return { required: true, content: { [row.request]: { schema: namedSchemas.withReferences(body) } } };
  const { properties = {}, ...rest } = namedSchemas.withReferences(body) as { properties?: Record<string, { type?: string }> };
  // A part without a type is a file: raw bytes, as OpenAPI 3.1 describes them.
  const parts = Object.entries(properties).map(([name, part]) => [
    name,
    part.type === undefined ? { ...part, contentMediaType: 'application/octet-stream' } : part,
  ]);
  return { required, content: { [row.request]: { schema: { ...rest, properties: Object.fromEntries(parts) } } } };
}

const errorResponse = (status: string, description: string, schema: unknown): Json => ({
  description,
  headers: { ...headerReferences, ...(status === '429' ? { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } : {}) },
  content: { 'application/json': { schema } },
});
