import { describe, expect, it } from 'vitest';
import { junitXml } from '../../../src/commands/agents/testing/junit.ts';
import type { TestRow } from '../../../src/commands/agents/testing/rows.ts';

const row = (fields: Partial<TestRow>): TestRow => ({
  ...{ id: 'a.test.yaml:4', status: 'passed', name: 'pays', file: 'a.test.yaml', line: 4, seconds: 0.25 },
  ...{ run_status: 'completed', run_error: null, requests: [], failures: [], ...fields },
});

describe('junitXml', () => {
  it('groups tests by file, and counts them', () => {
    const failures = [{ expectation: 'files', message: 'a.md is different.\nMore', path: 'a.md', diff: '--- expected\n-<b>' } as const];
    const rows = [
      row({}),
      row({ id: 'a.test.yaml:9', name: 'fails', status: 'failed', line: 9, failures: [...failures] }),
      row({ id: 'b.test.yaml:4', name: 'never ran', status: 'skipped', file: 'b.test.yaml', seconds: 0 }),
    ];
    expect(junitXml(rows, 1.5)).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="aops agents test" tests="3" failures="1" errors="0" skipped="1" time="1.500">
  <testsuite name="a.test.yaml" tests="2" failures="1" errors="0" skipped="0" time="0.500">
    <testcase name="pays" classname="a.test.yaml" file="a.test.yaml" line="4" time="0.250"/>
    <testcase name="fails" classname="a.test.yaml" file="a.test.yaml" line="9" time="0.250">
      <failure message="a.md is different." type="files">a.md is different.
More
--- expected
-&lt;b&gt;</failure>
    </testcase>
  </testsuite>
  <testsuite name="b.test.yaml" tests="1" failures="0" errors="0" skipped="1" time="0.000">
    <testcase name="never ran" classname="b.test.yaml" file="b.test.yaml" line="4" time="0.000">
      <skipped/>
    </testcase>
  </testsuite>
</testsuites>
`);
  });

  it('contains only characters that XML allows', () => {
    const name = 'a\u0000\u001b[31m"<&>\t\n\r\ufffe\ud800\u{1f600}';
    const xml = junitXml([row({ name })], 1);
    expect(xml).toContain('<testcase name="a\ufffd\ufffd[31m&quot;&lt;&amp;&gt;&#9;&#10;&#13;\ufffd\ufffd\u{1f600}"');
  });
});
