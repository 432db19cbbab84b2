/**
 * Where the tests keep their temporary files: in memory if possible. Services sync every change before they answer, so on a disk most
 * tests would spend most of their time waiting for it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** A disk in memory, on most Linux systems. In containers it is often too small. */
const memoryDisk = '/dev/shm';
const prefix = 'aops-tests-';
/** What all tests together need at a time, with room to spare. */
const requiredBytes = 2 * 1024 ** 3;
/** Folders that a killed test run left behind are removed once nobody can be using them any more. */
const day = 24 * 60 * 60 * 1000;

/** Runs once before all tests. The function that it returns runs after them. A TMPDIR that is set takes precedence. */
export default function setup(): (() => void) | undefined {
  if (process.env.TMPDIR !== undefined) return undefined;
  const folder = newFolderIn(memoryDisk, { bytes: requiredBytes });
  if (folder === undefined) return undefined;
  // The processes of the tests inherit it.
  process.env.TMPDIR = folder;
  return () => {
    delete process.env.TMPDIR;
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
}

/**
 * A new folder on a disk in memory. Undefined if the disk is missing or full, if it runs no programs, or if memory is scarce. Removes
 * the folders of test runs before the last day.
 * @param options.bytes what the tests need
 * @param options.memory free bytes: the tests need as much again for their processes
 * @param options.now milliseconds since 1970
 */
export function newFolderIn(
  disk: string,
  { bytes, memory = freemem(), now = Date.now() }: { bytes: number; memory?: number; now?: number },
): string | undefined {
  let folder: string | undefined;
  try {
    const { bavail, bsize } = statfsSync(disk);
    if (bavail * bsize < bytes || memory < 2 * bytes) return undefined;
    for (const name of readdirSync(disk).filter((entry) => entry.startsWith(prefix))) removeIfOlder(path.join(disk, name), now - day);
    folder = mkdtempSync(path.join(disk, prefix));
    // Some tests start programs as another user.
    chmodSync(folder, 0o1777);
    if (runsPrograms(folder)) return folder;
  } catch {
    // Without such a disk, the tests use the usual folder.
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  return undefined;
}

/** @param time milliseconds since 1970 */
function removeIfOlder(folder: string, time: number): void {
  try {
    if (statSync(folder).mtimeMs < time) rmSync(folder, { recursive: true, force: true });
  } catch {
    // It belongs to another user, or was removed in the meantime.
  }
}

/** Whether programs in the folder can be executed: a disk can be mounted with `noexec`. */
function runsPrograms(folder: string): boolean {
  const program = path.join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}
