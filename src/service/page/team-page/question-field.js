/** One question of a request: a single option, several options, or text. */
import { el } from './dom.js';
import { nameText, proseText } from './words.js';

/** @typedef {import('./types.d.ts').HumanQuestion} HumanQuestion */

/**
 * @param {HumanQuestion} question
 * @param {{ id: string, title: string, draft: unknown, optional?: boolean, maxLength?: number, onChange: () => void }} options
 *   `optional` if it can be left empty; `maxLength` of a text, in UTF-16 code units
 */
export function questionField(question, { id, title, draft, optional = false, maxLength, onChange }) {
  const problem = el('p', { class: 'problem', id: `${id}-problem`, hidden: true });
  // A single question often repeats the title, which is already visible above; screen readers still announce it.
  const repeats = question.question.trim() === title.trim();
  const caption = [
    question.header === undefined ? null : el('span', { class: 'tag' }, nameText(question.header)),
    el('span', { class: repeats ? 'hidden' : 'question', dir: 'auto' }, proseText(question.question)),
  ];
  const input =
    (question.options ?? []).length === 0 ? textInput(id, draft, maxLength, onChange) : choiceInput(question, id, draft, onChange);
  const element = input.isText
    ? el('div', { class: 'field' }, el('label', { for: `${id}-text` }, ...caption), ...input.elements, problem)
    : el('fieldset', { class: 'field', 'aria-describedby': problem.id }, el('legend', {}, ...caption), ...input.elements, problem);

  /** @param {string} text */
  const showProblem = (text) => {
    problem.textContent = text;
    problem.hidden = text === '';
    for (const control of input.controls()) {
      if (text === '') control.removeAttribute('aria-invalid');
      else control.setAttribute('aria-invalid', 'true');
    }
  };
  element.addEventListener('input', () => showProblem(''));

  return {
    element,
    value: input.value,
    draft: input.draft,
    focus: () => input.controls()[0]?.focus(),
    check() {
      const isFine = optional || input.value() !== '';
      if (!isFine) showProblem(input.isText ? 'Write an answer.' : question.multi_select ? 'Choose one or more.' : 'Choose one.');
      return isFine;
    },
  };
}

/** @param {string} id @param {unknown} draft @param {number | undefined} maxlength @param {() => void} onChange */
function textInput(id, draft, maxlength, onChange) {
  const area = el('textarea', { id: `${id}-text`, rows: 3, maxlength, 'aria-describedby': `${id}-problem`, dir: 'auto', input: onChange });
  area.value = typeof draft === 'string' ? draft : '';
  // Ctrl+Enter sends the form, as in most fields for several lines.
  area.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.isComposing) area.form?.requestSubmit();
  });
  return { isText: true, elements: [area], controls: () => [area], value: () => area.value.trim(), draft: () => area.value };
}

/** @param {HumanQuestion} question @param {string} id @param {unknown} draft @param {() => void} onChange */
function choiceInput({ options = [], multi_select: isMultiple }, id, draft, onChange) {
  const selectedLabels = new Set(Array.isArray(draft) ? draft : []);
  const controls = options.map(({ label }, index) => {
    const control = el('input', { type: isMultiple ? 'checkbox' : 'radio', name: id, id: `${id}-${index}`, input: onChange });
    control.checked = selectedLabels.has(label);
    return control;
  });
  const elements = options.map(({ label, description }, index) =>
    el(
      'label',
      { class: 'option', for: `${id}-${index}` },
      controls[index],
      el(
        'span',
        {},
        el('bdi', { class: 'label' }, nameText(label)),
        description === undefined ? null : el('span', { class: 'quiet', dir: 'auto' }, proseText(description)),
      ),
    ),
  );
  const labels = () => options.filter((_, index) => controls[index]?.checked).map(({ label }) => label);
  return { isText: false, elements, controls: () => controls, value: () => labels().join(', '), draft: labels };
}
