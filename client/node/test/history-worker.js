'use strict';
/* history-worker: 16 lockers of history.js, in one process. Each locks a name at random, raises the number in the file of that
 * name, and records what it does, each line by one write: a kill loses none. It ends when its standard input does.
 *
 *   held NAME TOKEN TIME        from then on
 *   wrote NAME TOKEN TIME N     the number, while it was held
 *   over NAME TOKEN TIME        it is given back next, or was told to be lost
 *
 * Times are those of CLOCK_MONOTONIC in ns, which all processes of the host share. */

const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const hf = require('..');

const [folder, number] = process.argv.slice(2);
const NAMES = 16;
const LOCKERS = 16;
const out = fs.openSync(path.join(folder, `history-${number}`), 'a');
const counters = Array.from({ length: NAMES }, (_, i) => fs.openSync(path.join(folder, `counter-${i}`), 'r+'));
let stop = false;
process.stdin.resume().on('end', () => (stop = true));

/** @param {...unknown} words */
function record(...words) {
  fs.writeSync(out, `${words.join(' ')}\n`);
}

const now = () => process.hrtime.bigint();
const random = (below) => Math.floor(Math.random() * below);

/** Raises the number in the file of the name, in two steps between which others would come in. */
async function count(name, lock) {
  const bytes = Buffer.alloc(8);
  fs.readSync(counters[name], bytes, 0, 8, 0);
  await (random(10) === 0 ? sleep(1) : null);
  if (!lock.held) return;
  const next = Number(bytes) + 1;
  fs.writeSync(counters[name], String(next).padStart(8), 0);
  record('wrote', name, lock.token, now(), next);
}

/** How a lock is asked for: with a wait that may be too short, with a signal that may abort, or without an end. */
function terms() {
  const way = random(4);
  if (way === 0) return { wait: random(50) };
  if (way === 1) return { signal: AbortSignal.timeout(random(50)) };
  return way === 2 ? { wait: 60000 } : {};
}

/** Whether a caller must expect the error while daemons and connections are killed. */
function isExpected(error) {
  return (
    error instanceof hf.LockBusyError ||
    error instanceof hf.LockLostError ||
    error instanceof hf.DaemonUnreachableError ||
    error.name === 'TimeoutError' ||
    ['NOMASTER', 'GUARD', 'DRAINING'].includes(error.code)
  );
}

async function locker() {
  while (!stop) {
    const name = random(NAMES);
    try {
      const lock = await hf.lock(`n${name}`, terms());
      record('held', name, lock.token, now());
      lock.signal.addEventListener('abort', () => record('over', name, lock.token, now()));
      await count(name, lock);
      if (!lock.signal.aborted) record('over', name, lock.token, now());
      await lock.unlock();
    } catch (error) {
      if (!isExpected(error)) throw error;
    }
  }
}

void Promise.all(Array.from({ length: LOCKERS }, locker));
