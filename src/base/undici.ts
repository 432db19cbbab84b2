/**
 * The parts of undici that the HTTP client and the service use. Importing the package's index also loads fetch, WebSocket, the cache
 * and the mocks, which takes longer than everything else a short command does.
 */
import type { buildConnector as Connector, Dispatcher, Agent as UndiciAgent } from 'undici';
import api from 'undici/lib/api/index.js';
import connectorFactory from 'undici/lib/core/connect.js';
import AgentClass from 'undici/lib/dispatcher/agent.js';
import DispatcherClass from 'undici/lib/dispatcher/dispatcher.js';

// What undici's own index does: the request methods live on the dispatcher's prototype.
Object.assign(DispatcherClass.prototype, api);

export const Agent = AgentClass as unknown as typeof UndiciAgent;
export const buildConnector = connectorFactory as typeof Connector;
export type { Connector };
export type AgentOptions = UndiciAgent.Options;
export type { Dispatcher };
