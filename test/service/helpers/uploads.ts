/** Files that tests upload to sandboxes. */
import path from 'node:path';

/** The body of `uploadSandboxFile` for a text. @param file its path in the sandbox */
export function uploadForm(file: string, text: string): FormData {
  const form = new FormData();
  form.set('path', file);
  form.set('file', new File([text], path.basename(file)));
  return form;
}
