/** What a service offers, according to the OpenAPI document that it publishes. */
import { publishedContract } from '../../cli/connect/contract.ts';
import type { Client } from '../../client/client.ts';

/** Whether the document contains a name, such as that of a field; false if the service publishes none. */
export async function contractNames(client: Client, name: string): Promise<boolean> {
  return JSON.stringify((await publishedContract(client)) ?? null).includes(`"${name}"`);
}
