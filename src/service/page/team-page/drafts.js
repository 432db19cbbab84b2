/** Text that was written but not sent yet. It survives new data, navigation within the page, and a reload. */

const place = (/** @type {string} */ id) => `aops.draft.${id}`;

/** @template Draft @param {string} id @returns {Draft | undefined} */
export function readDraft(id) {
  try {
    return JSON.parse(sessionStorage.getItem(place(id)) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} id @param {unknown} draft */
export function keepDraft(id, draft) {
  try {
    sessionStorage.setItem(place(id), JSON.stringify(draft));
  } catch {
    // The storage is full; the text is still in its field.
  }
}

/** @param {string} id */
export const dropDraft = (id) => sessionStorage.removeItem(place(id));
