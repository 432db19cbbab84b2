/** Data directories with any number of rows and files, without having executed a run. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Libsql from 'libsql';
import { putEmptyDatabase } from '../../support/empty-database.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

/** A data directory, and what puts rows into its database. */
export async function storedData(): Promise<{ directory: string; rows: StoredRows }> {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  return { directory, rows: new StoredRows(directory) };
}

export class StoredRows {
  readonly #file: string;
  #runs = 0;

  constructor(directory: string) {
    this.#file = path.join(directory, 'aops.db');
  }

  /** A run of a sandbox with the same ID, or of one that exists. */
  run(id: string, { status = 'completed', sandbox = id }: { status?: string; sandbox?: string } = {}): void {
    this.#runs += 1;
    this.execute(`insert or ignore into sandboxes (id, team_id, created_at) values ('${sandbox}', 't', '')`);
    this.execute(`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime,
        procedure_hash, turn, submitted_prompt_count, resume_count, created_at, updated_at)
      values ('${id}', 't', 'a', 'b', ${this.#runs}, '', '', '${status}', 'api', '${sandbox}', 'script', 'h', 1, 0, 0, '', '')`);
  }

  /** A file of a run, and the checksum that it should have. */
  runFile(id: string, runId: string, sha256: string): void {
    this.execute(`insert into run_files (id, run_id, turn, event_id, name, mime_type, size, sha256, created_at)
      values ('${id}', '${runId}', 1, '${id}', 'n', 'text/plain', 1, '${sha256}', '')`);
  }

  /** Executes SQL. References are not checked. */
  execute(text: string): void {
    const database = new Libsql(this.#file);
    database.pragma('foreign_keys=OFF');
    database.exec(text);
    database.close();
  }
}

/** Writes a file into the workspace of a sandbox; returns its name in a backup. */
export async function sandboxFile(directory: string, sandbox: string, name: string, content: string): Promise<string> {
  const inDirectory = `sandboxes/${sandbox}/workspace/${name}`;
  await mkdir(path.dirname(path.join(directory, inDirectory)), { recursive: true });
  await writeFile(path.join(directory, inDirectory), content);
  return inDirectory;
}
