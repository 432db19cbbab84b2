/** What a service offers, according to the OpenAPI document that it publishes. */
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import { readJson } from '../../client/response.ts';

/** The document; undefined if the service publishes none. */
export async function publishedContract(client: Client): Promise<unknown> {
  try {
    const answer = await client.send({ method: 'GET', path: '/v2/openapi.json', headers: {}, mutates: false });
    const read = readJson(answer);
    return 'value' in read ? (read.value ?? undefined) : undefined;
  } catch (error) {
    if (error instanceof ServiceAnswerError) return undefined;
    throw error;
  }
}

/** Whether the document contains a name, such as that of a field; false if the service publishes none. */
export async function contractNames(client: Client, name: string): Promise<boolean> {
  return JSON.stringify((await publishedContract(client)) ?? null).includes(`"${name}"`);
}
