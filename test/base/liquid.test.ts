/** Texts without outputs and tags are not parsed: they must be what the library would make of them. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { engine, render, TemplateError } from '../../src/base/liquid.ts';

describe('a text', () => {
  it('is what the library renders, whatever braces and signs are in it', () => {
    const part = fc.constantFrom('{', '}', '%', '-', '#', ' ', '\n', '\\', 'a', '😀', '{ {', '}}', '%}', '{-', '{#');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const template = parts.join('');
        fc.pre(!/\{[{%]/.test(template));
        expect(render(template, {})).toBe(engine.parseAndRenderSync(template, {}));
      }),
      { seed: 1 },
    );
  });

  it('is parsed only if it has outputs or tags', () => {
    const parse = vi.spyOn(engine, 'parseAndRenderSync');
    expect(render('plain text', {})).toBe('plain text');
    expect(parse).not.toHaveBeenCalled();
    expect(render('one {{ word }}', { word: 'output' })).toBe('one output');
    expect(render('{% if true %}one tag{% endif %}', {})).toBe('one tag');
    expect(parse).toHaveBeenCalledTimes(2);
    parse.mockRestore();
  });

  it('may be as long as a template', () => {
    const longest = 'x'.repeat(1024 * 1024);
    expect(render(longest, {})).toHaveLength(longest.length);
    expect(() => render(`${longest}x`, {})).toThrow(TemplateError);
  });
});
