import type { FloorDatabase } from './floor-database.js';

interface Identity {
  team: string;
  credential: string;
}

type Change = (url: string, idempotencyKey: string, body: string) => Promise<string>;

export const queries: { run: string; page: string; total: string };
export function createAgent(database: FloorDatabase, identity: Identity): Change;
export function startRun(database: FloorDatabase, identity: Identity): { start: Change; completed: () => number };
