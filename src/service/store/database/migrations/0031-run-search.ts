/** An index of the titles and IDs of runs for searches, maintained by triggers in the transaction that changes a run. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

/** Titles and searches are folded before they get here. A search never contains a line break, so no match extends from one to the other. */
const text = (row: 'new' | 'runs'): string => `${row}.title_folded || char(10) || ${row}.id`;

const statements = [
  // Sequences of three characters, with which any part of a text is found. The text itself is only in the table of runs.
  `create virtual table run_search using fts5 (text, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1')`,
  `create trigger run_search_insert after insert on runs begin
    insert into run_search (rowid, text) values (new.rowid, ${text('new')});
  end`,
  `create trigger run_search_update after update of title_folded on runs begin
    delete from run_search where rowid = new.rowid;
    insert into run_search (rowid, text) values (new.rowid, ${text('new')});
  end`,
  `create trigger run_search_delete after delete on runs begin
    delete from run_search where rowid = old.rowid;
  end`,
  `insert into run_search (rowid, text) select rowid, ${text('runs')} from runs`,
];

export const runSearch: Migration = { up };
