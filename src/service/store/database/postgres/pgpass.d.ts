declare module 'pgpass' {
  /** What a line of a password file is looked for with. */
  export interface Server {
    host: string;
    port: number;
    database: string;
    user: string;
  }
  /** Looks in the file that PGPASSFILE names, or in `~/.pgpass`. */
  const passwordFrom: (server: Server, use: (password: string | undefined) => void) => void;
  export default passwordFrom;
}
