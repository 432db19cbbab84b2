/** The environment variables that aops reads: those of settings come from their definitions, the others are listed here. */
import { settingDefinitions } from '../../../config/settings.ts';

/** Meanings of variables that differ from the meaning of their setting. */
const meanings: Readonly<Record<string, string>> = {
  NO_COLOR: 'If set to anything, output has no colour.',
  FORCE_COLOR: 'If set, output is always coloured; `0` and `false` turn colour off.',
};

const otherVariables: readonly (readonly [variable: string, meaning: string])[] = [
  ['AOPS_API_KEY', 'The key to sign in with; overrides the credential of the profile.'],
  ['AOPS_CLIENT_ID', 'Client credentials instead of a key, with `AOPS_CLIENT_SECRET` and `AOPS_TOKEN_URL`.'],
  ['AOPS_CLIENT_SECRET', 'See `AOPS_CLIENT_ID`.'],
  ['AOPS_TOKEN_URL', 'The URL at which client credentials are exchanged for a token.'],
  ['AOPS_SCOPE', 'The scopes to request, separated by spaces. The default is all scopes of the client.'],
  ['AOPS_CONFIG_DIR', 'Folder for profiles, settings, and credentials (default: `$XDG_CONFIG_HOME/aops`, `~/.config/aops`).'],
  ['AOPS_DATA_DIR', 'Folder for the data of the local service (default: `$XDG_DATA_HOME/aops`, `~/.local/share/aops`).'],
  ['AOPS_CACHE_DIR', 'Folder for caches, which you can delete at any time (default: `$XDG_CACHE_HOME/aops`, `~/.cache/aops`).'],
  ['AOPS_CHROMIUM', 'Path of the browser (Chromium, Chrome, or Edge) for runs of the local service. Flag: `--chromium`.'],
  [
    'AOPS_DATABASE_URL',
    'The Postgres database for `aops serve`, and for the commands of `aops local` that manage tokens, clients, teams, and plans. Flag: `--database-url`, which cannot contain a password.',
  ],
  ['AOPS_SECRET_KEY', 'The key for secrets (32 bytes in Base64) of nodes that share a database. Flag: `--secret-key-file`.'],
  ['AOPS_NO_RATE_SHARING', 'If set to anything, aops does not share the state of the rate limit with other processes.'],
  ['AOPS_WEBHOOK_SECRET', 'The signing secret for `aops webhooks listen` and `aops webhooks verify`, unless --secret is passed.'],
  ['AOPS_BIN', 'The path of aops; set for extensions and shell aliases.'],
  ['AOPS_GITHUB', '`off` turns off annotations and the summary of the job in GitHub Actions.'],
  ['AOPS_EXTENSION', 'The name of the extension; set for extensions.'],
  ['AOPS_PROGRAM_ID', 'Marks the processes of a run at the level `host`; the local service sets it, and you do not have to.'],
  ['VISUAL', 'The editor for long answers and for `aops agents edit`; takes precedence over `EDITOR`.'],
  ['EDITOR', 'The same, if `VISUAL` is not set.'],
  ['CI', 'If set, there are no animations, prompts, or colours. `false` and `0` count as not set.'],
  ['HTTP_PROXY', 'Proxy for HTTP addresses.'],
  ['HTTPS_PROXY', 'Proxy for HTTPS addresses.'],
  ['ALL_PROXY', 'Proxy for both, unless a more specific one is set.'],
  ['NO_PROXY', 'Hosts that are reached without the proxy: names, addresses, or networks. This machine is never reached through a proxy.'],
];

/** Variables of other programs that affect aops. */
const surroundings: readonly (readonly [variables: string, meaning: string])[] = [
  ['PGPASSWORD, PGPASSFILE', 'The password for the database, or the file that contains it (default: `~/.pgpass`).'],
  [
    'PGSSLMODE, PGSSLROOTCERT, PGSSLCERT, PGSSLKEY',
    'TLS to the database, unless its URL contains `sslmode`, `sslrootcert`, `sslcert`, or `sslkey`.',
  ],
  [
    'AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN',
    'The keys of the bucket for `aops serve --file-store`; otherwise the profile `AWS_PROFILE` in the file `AWS_SHARED_CREDENTIALS_FILE`.',
  ],
  ['AWS_REGION, AWS_DEFAULT_REGION', 'The region of the bucket, unless `--file-store` contains `region`.'],
  ['HOME', 'Your home directory; ignored unless it is an absolute path.'],
  ['XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME', 'Standard folders of programs; on Windows `APPDATA` and `LOCALAPPDATA`.'],
  ['PATH', 'Where aops looks for programs: extensions, the browser, the pager, and the commands of local runs.'],
  ['TMPDIR', 'Folder for temporary files.'],
  ['UV_THREADPOOL_SIZE', 'How many threads `aops serve` has for files and for names that are looked up (default: 16).'],
  ['TERM, COLUMNS', 'The capabilities of the terminal, and its width if the terminal does not report it.'],
  ['LANG, LC_ALL, LC_CTYPE', 'Whether the terminal can show more than ASCII.'],
  [
    'FORCE_HYPERLINK',
    'Whether output contains clickable links (`0` turns them off); the default depends on `TERM_PROGRAM`, `VTE_VERSION`, `KONSOLE_VERSION`, and `WT_SESSION`.',
  ],
  ['TMUX, STY, ZELLIJ', 'Whether `--notify` has to reach the terminal through tmux, or only rings the bell.'],
  [
    'LC_TERMINAL, ITERM_SESSION_ID, KITTY_WINDOW_ID',
    'How `--notify` shows a notification in this terminal, together with `TERM_PROGRAM`, `VTE_VERSION`, and `WT_SESSION`.',
  ],
  ['GHOSTTY_RESOURCES_DIR, WEZTERM_PANE', 'The same.'],
  ['LESS, LV', 'Options of the pager; by default it exits after short output and shows colours.'],
  ['BROWSER', 'The program that opens pages, or several in the order of preference; `%s` stands for the page.'],
  [
    'DISPLAY, WAYLAND_DISPLAY',
    'Whether there is a screen to open pages on, together with `SSH_CONNECTION` and `WSL_DISTRO_NAME`; not needed with `BROWSER`.',
  ],
  ['GITHUB_ACTIONS, GITHUB_STEP_SUMMARY', 'Whether this is a job of GitHub Actions, and the file for its summary.'],
  ['SHELL', 'The shell whose completion `aops doctor` checks.'],
  ['NODE_EXTRA_CA_CERTS', 'A file with additional certificate authorities to trust.'],
  [
    'NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE',
    'A folder for compiled code instead of `code` in the cache folder; whether to compile everything at each start (`1`).',
  ],
  ['NODE_TLS_REJECT_UNAUTHORIZED', '`0` turns off the verification of certificates; `aops doctor` warns about it.'],
];

/** Rows for variables that other programs set. */
export const surroundingRows = (): [string, string][] => surroundings.map(([variables, meaning]) => [variables, meaning]);

/** Rows of variable and meaning; text to type is in backquotes. */
export function environmentRows(): [string, string][] {
  const settingRows = settingDefinitions.flatMap(({ environment, flag, description }) =>
    environment.map((variable): [string, string] => [
      variable,
      `${meanings[variable] ?? description}${flag === undefined ? '' : ` Flag: \`${flag}\`.`}`,
    ]),
  );
  return [...settingRows, ...otherVariables.map(([variable, meaning]): [string, string] => [variable, meaning])];
}
