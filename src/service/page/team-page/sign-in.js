/** Signing in with a token, for people who did not use `aops local open`. */
import { ApiError } from './api.js';
import { el } from './dom.js';
import { forgetToken, keepToken, openSession } from './session.js';
import { proseText } from './words.js';

/** @param {{ reason: string, onSignIn: (session: import('./session.js').Session) => void }} options */
export function signIn({ reason, onSignIn }) {
  const problem = el('p', { class: 'problem', role: 'alert', id: 'token-problem', hidden: reason === '' }, reason);
  const token = el('input', {
    id: 'token',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-describedby': 'token-problem',
    required: true,
  });
  /** @param {string} text */
  const showProblem = (text) => {
    problem.textContent = text;
    problem.hidden = text === '';
  };
  let isBusy = false;
  const submit = async () => {
    if (isBusy) return;
    const tokenText = token.value.trim();
    if (tokenText === '') {
      showProblem('Paste a token.');
      token.focus();
      return;
    }
    if (!/^[\x21-\x7e]+$/.test(tokenText)) return showProblem('This is not a token: it contains characters that tokens do not have.');
    isBusy = true;
    keepToken(tokenText);
    try {
      const session = await openSession();
      if (session !== undefined) onSignIn(session);
    } catch (error) {
      forgetToken();
      showProblem(
        error instanceof ApiError && error.status === 401
          ? 'The service does not accept this token. It might have expired or been revoked.'
          : error instanceof Error
            ? proseText(error.message)
            : 'Signing in failed.',
      );
      token.focus();
    } finally {
      isBusy = false;
    }
  };
  return el(
    'section',
    { class: 'page sign-in' },
    el('h1', { tabindex: -1 }, 'Sign in'),
    el('p', {}, 'On the machine that runs the service, this opens the page and signs you in:'),
    el('pre', {}, 'aops local open'),
    el(
      'form',
      {
        novalidate: true,
        submit: (event) => {
          event.preventDefault();
          void submit();
        },
      },
      el('div', { class: 'field' }, el('label', { for: 'token' }, 'Or paste a token of your team'), token, problem),
      el('div', { class: 'buttons' }, el('button', { class: 'primary' }, 'Sign in')),
    ),
    el(
      'p',
      { class: 'quiet' },
      'The token is stored in this tab and deleted when you close it. It needs the scopes runs:read and files:read to show runs, approvals:write to answer, and runs:write to start runs, send messages, and stop runs (with sandboxes:write to upload files).',
    ),
  );
}
