import { describe, expect, it } from 'vitest';
import { suggestionsWithSelection, withSelection } from '../../../src/cli/connect/selection.ts';

const acme = { profile: 'acme' };

describe('a suggested command', () => {
  it('gets the flags that select the service and the team', () => {
    const flags = { profile: 'acme', team: '00000000-0000-4000-8000-00000000000a', baseUrl: 'http://127.0.0.1:80/' };
    expect(withSelection('aops runs watch 17', flags)).toBe(
      'aops --profile acme --team 00000000-0000-4000-8000-00000000000a --base-url http://127.0.0.1:80/ runs watch 17',
    );
    expect(withSelection('aops runs watch 17', {})).toBe('aops runs watch 17');
  });

  it('does not get what a shell or JSON would have to quote', () => {
    expect(withSelection('aops runs watch 17', { ...acme, team: 'a"; ls' })).toBe('aops --profile acme runs watch 17');
    expect(withSelection('aops runs watch 17', { baseUrl: 'https://user:secret@acme.example' })).toBe('aops runs watch 17');
  });

  it.each([
    ['Answer with `aops runs get 1`, or `aops inbox`.', 'Answer with `aops --profile acme runs get 1`, or `aops --profile acme inbox`.'],
    ['Detached. Come back with: aops runs watch 1', 'Detached. Come back with: aops --profile acme runs watch 1'],
    ['{"hint":"Run `aops auth login`."}', '{"hint":"Run `aops --profile acme auth login`."}'],
  ])('is found in %s', (text, expected) => {
    expect(suggestionsWithSelection(text, acme)).toBe(expected);
    expect(suggestionsWithSelection(expected, acme)).toBe(expected);
  });

  it.each([
    'Start it with `aops local up`.',
    'See `aops runs --help`.',
    'See `aops help names`.',
    'A change that aops sends',
    'aops: runs',
  ])('is not found in %s', (text) => expect(suggestionsWithSelection(text, acme)).toBe(text));
});
