/** A service with the script runtime, and an agent with a procedure. */
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { type Api, config, startApi, type TestOptions } from './service.ts';

/** @param steps the list of the procedure, in YAML */
export async function scripted(steps: string, options: TestOptions = {}): Promise<{ api: Api; agentId: string }> {
  const api = await startApi({ runtimes: [scriptRuntime], ...options });
  const procedure = `version: 1\nsteps:\n${steps}`;
  const { agent } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'one', config: config(procedure, 'script') } } });
  return { api, agentId: agent.id };
}
