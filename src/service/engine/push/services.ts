/** The push services of browsers. They are the only hosts to which pushes are sent, because any credential that reads requests can choose an endpoint. */

/** Host names, as `HostRules` reads them: Chrome and its relatives, Firefox, Safari, and Edge. */
export const pushServices: readonly string[] = [
  'fcm.googleapis.com',
  'jmt17.google.com',
  '*.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
];
