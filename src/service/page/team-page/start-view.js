/** Starts a run: an agent, a message, and files for its sandbox. What was written stays until the run was started. */
import { ApiError, Keys, newKey, Unreachable } from './api.js';
import { announce, el, fill, setText } from './dom.js';
import { dropDraft, keepDraft, readDraft } from './drafts.js';
import { listAll } from './paging.js';
import { ownPath } from './pictures.js';
import { countText, name, nameText, proseText, size } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').AgentListItem} AgentListItem */

const draftId = 'start';

/** @implements {View} */
export class StartView {
  #app;
  #agentId;
  #keys = new Keys();
  #isBusy = false;
  #isLoaded = false;
  /** @type {File[]} */
  #files = [];
  /** The sandbox that already contains the files, if an earlier attempt failed after the upload. @type {string | undefined} */
  #sandboxId;
  #agentField = el('select', { id: 'start-agent', required: true, 'aria-describedby': 'start-agent-problem' });
  #agentProblem = el('p', { class: 'problem', id: 'start-agent-problem', hidden: true });
  #message = el('textarea', { id: 'start-message', rows: 4, dir: 'auto', 'aria-describedby': 'start-message-hint' });
  #picker = el('input', { id: 'start-files', type: 'file', multiple: true, class: 'file-input' });
  #fileList = el('ul', { class: 'picked', 'aria-label': 'Files to upload' });
  #button = el('button', { class: 'primary' }, 'Start run');
  #progress = el('p', { class: 'quiet', role: 'status' });
  #problem = el('p', { class: 'problem', role: 'alert', hidden: true });
  #form;
  #fields = el('div', {});
  #empty = el('div', { class: 'empty', hidden: true });

  /** @param {import('./types.d.ts').App} app @param {string} agentId the agent to preselect; empty for none */
  constructor(app, agentId) {
    this.#app = app;
    this.#agentId = agentId;
    this.#message.value = readDraft(draftId) ?? '';
    this.#message.addEventListener('input', () => keepDraft(draftId, this.#message.value));
    this.#message.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.isComposing) void this.#start();
    });
    this.#agentField.addEventListener('change', () => this.#showAgentProblem(''));
    this.#picker.addEventListener('change', () => this.#addFiles());
    fill(
      this.#fields,
      el('div', { class: 'field' }, el('label', { for: 'start-agent' }, 'Agent'), this.#agentField, this.#agentProblem),
      el(
        'div',
        { class: 'field' },
        el('label', { for: 'start-message' }, 'Message (optional)'),
        this.#message,
        el('p', { class: 'quiet', id: 'start-message-hint' }, 'What the run should do, or what it should know. Ctrl+Enter starts the run.'),
      ),
      ...(app.session.hasScope('sandboxes:write')
        ? [
            el(
              'div',
              { class: 'field' },
              el('label', { for: 'start-files' }, 'Files (optional)'),
              this.#picker,
              this.#fileList,
              el('p', { class: 'quiet' }, 'They are uploaded to the workspace of the run.'),
            ),
          ]
        : []),
    );
    this.#form = el(
      'form',
      {
        novalidate: true,
        hidden: true,
        submit: (event) => {
          event.preventDefault();
          void this.#start();
        },
      },
      this.#fields,
      el('div', { class: 'buttons' }, this.#button, this.#progress),
      this.#problem,
    );
    this.element = el(
      'section',
      { class: 'page narrow' },
      el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Start a run')),
      this.#form,
      this.#empty,
    );
  }

  title = () => 'Start a run';

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    if (!this.#app.session.hasScope('runs:write') || !this.#app.session.hasScope('runs:read')) {
      this.#showEmpty('Not permitted', 'Your token needs the scopes runs:read and runs:write to start runs.');
      return 60_000;
    }
    const { api, teamId } = this.#app.session;
    /** @type {readonly AgentListItem[]} */
    const agents = await listAll(api, `/v2/teams/${encodeURIComponent(teamId)}/agents`, 'agents', signal);
    if (agents.length === 0)
      this.#showEmpty('No agents yet', 'Create one in a terminal: aops agents create NAME --procedure procedure.yaml');
    else this.#showAgents(agents);
    return 60_000;
  }

  /** @param {readonly AgentListItem[]} agents */
  #showAgents(agents) {
    this.#empty.hidden = true;
    this.#form.hidden = false;
    const selectedId = this.#agentField.value || this.#agentId || (agents.length === 1 ? (agents[0]?.id ?? '') : '');
    const signature = agents.map((agent) => `${agent.id} ${agent.name}`).join('\n');
    if (this.#agentField.dataset.for !== signature) {
      this.#agentField.dataset.for = signature;
      const sorted = agents.toSorted((a, b) => a.name.localeCompare(b.name));
      fill(
        this.#agentField,
        el('option', { value: '' }, 'Choose an agent'),
        ...sorted.map((agent) => el('option', { value: agent.id }, nameText(agent.name))),
      );
      this.#agentField.value = selectedId;
      // The agent of the address does not exist.
      if (this.#agentField.selectedIndex < 0) this.#agentField.value = '';
    }
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    announce(`${countText(agents.length, 'agent')} to choose from`);
  }

  #addFiles() {
    for (const file of this.#picker.files ?? []) {
      this.#files = [...this.#files.filter((each) => each.name !== file.name), file];
    }
    // The same file can be chosen again after it was removed.
    this.#picker.value = '';
    this.#sandboxId = undefined;
    this.#showFiles();
  }

  #showFiles() {
    fill(
      this.#fileList,
      ...this.#files.map((file) =>
        el(
          'li',
          {},
          name(file.name),
          el('span', { class: 'quiet' }, size(file.size)),
          el(
            'button',
            { type: 'button', class: 'plain', 'aria-label': `Remove ${nameText(file.name)}`, click: () => this.#remove(file) },
            'Remove',
          ),
        ),
      ),
    );
  }

  /** @param {File} file */
  #remove(file) {
    this.#files = this.#files.filter((each) => each !== file);
    this.#sandboxId = undefined;
    this.#showFiles();
    announce(`${nameText(file.name)} was removed.`);
  }

  async #start() {
    if (this.#isBusy) return;
    this.#showProblem('');
    if (this.#agentField.value === '') {
      this.#showAgentProblem('Choose an agent.');
      this.#agentField.focus();
      return;
    }
    this.#setBusy(true);
    try {
      const { api, teamId } = this.#app.session;
      if (this.#files.length > 0) this.#sandboxId ??= await this.#upload();
      setText(this.#progress, 'Starting the run…');
      const message = this.#message.value.trim();
      const body = {
        agent_id: this.#agentField.value,
        ...(message === '' ? {} : { message }),
        ...(this.#sandboxId === undefined ? {} : { sandbox_id: this.#sandboxId }),
      };
      /** @type {{ run: { id: string } }} */
      const { run } = await api.post(`/v2/teams/${encodeURIComponent(teamId)}/runs`, body, this.#keys.for(body));
      dropDraft(draftId);
      announce('The run was started.');
      // The form does not come back with the browser's Back button: the run was started.
      // Unless the person has moved on in the meantime.
      if (this.element.isConnected) location.replace(`#/runs/${encodeURIComponent(run.id)}`);
    } catch (error) {
      this.#showError(error);
    }
    this.#setBusy(false);
  }

  /** Uploads the files to a new sandbox. @returns {Promise<string>} the ID of the sandbox */
  async #upload() {
    const { api } = this.#app.session;
    /** @type {{ sandbox_id: string }} */
    const { sandbox_id: id } = await api.post('/v2/sandboxes', undefined, newKey());
    for (const [index, file] of this.#files.entries()) {
      setText(this.#progress, `Uploading file ${index + 1} of ${this.#files.length}…`);
      /** @type {{ upload_url: string }} */
      const { upload_url: url } = await api.post(`/v2/sandboxes/${encodeURIComponent(id)}/upload-urls`, { path: file.name }, newKey());
      await api.upload(ownPath(url), file);
    }
    return id;
  }

  /** @param {unknown} error */
  #showError(error) {
    if (error instanceof Unreachable) this.#showProblem('No response arrived. You can safely try again: the run is started once.');
    else if (error instanceof ApiError && error.status === 429)
      this.#showProblem(`The service requested a pause. Try again in ${error.retryAfter} s.`);
    else this.#showProblem(error instanceof Error ? proseText(error.message) : 'The run could not be started.');
  }

  /** @param {boolean} busy */
  #setBusy(busy) {
    this.#isBusy = busy;
    // Nothing can be changed that is being sent already.
    if (busy && this.#fields.contains(document.activeElement)) this.#button.focus();
    this.#fields.inert = busy;
    this.#form.setAttribute('aria-busy', String(busy));
    this.#button.setAttribute('aria-disabled', String(busy));
    if (!busy) setText(this.#progress, '');
  }

  /** @param {string} text */
  #showAgentProblem(text) {
    this.#agentProblem.hidden = text === '';
    this.#agentProblem.textContent = text;
    if (text === '') this.#agentField.removeAttribute('aria-invalid');
    else this.#agentField.setAttribute('aria-invalid', 'true');
  }

  /** @param {string} text */
  #showProblem(text) {
    this.#problem.hidden = text === '';
    this.#problem.textContent = text;
  }

  /** @param {string} title @param {string} text */
  #showEmpty(title, text) {
    this.#form.hidden = true;
    this.#empty.hidden = false;
    fill(this.#empty, el('h2', {}, title), el('p', {}, text));
  }
}
