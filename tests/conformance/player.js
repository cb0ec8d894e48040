'use strict';
// A program that uses the package for Node as README.md says: it does what it is told line by line.

const readline = require('node:readline');
const hf = require('../../client/node');

const locks = new Map();
const errors = new Map(); // of lock, by name
const say = (...words) => console.log(words.join(' '));
const ms = (text) => ({ forever: Infinity, nan: NaN, long: 366 * 86_400_000 })[text] ?? Number(text) * 1000;

function optionsOf(words) {
  const options = {};
  for (const word of words) {
    const [key, value] = word.split('=');
    if (key === 'limit' || key === 'permits') options[key] = Number(value);
    else if (key === 'wait' || key === 'lease') options[key] = ms(value);
    else if (key === 'max_hold') options.maxHold = ms(value);
    else if (key === 'shared') options.shared = true;
    else if (key === 'watch') {
      options.onWait = ({ holder, position, waited }) => say(value, 'waits', holder ? holder.pid : '-', position ?? '-', waited);
    }
    else options[key] = decodeURIComponent(value);
  }
  return options;
}

/** The words for an error. */
function failure(error) {
  const { transient, message } = error;
  let word = 'other';
  if (error instanceof TypeError || error instanceof RangeError) word = 'invalid';
  else if (error instanceof hf.LockTimeoutError) word = error instanceof hf.LockBusyError ? 'timeout' : 'timeout, and not busy';
  else if (error instanceof hf.LockBusyError) word = 'busy';
  else if (error instanceof hf.LockLostError) word = `lost:${error.reason}`;
  else if (error instanceof hf.LockRefusedError) word = `refused:${error.code}`;
  else if (error instanceof hf.DaemonUnreachableError) word = 'unreachable';
  return [word, transient ? 1 : 0, message];
}

const outcome = (promise) => promise.then((words) => words ?? ['ok'], failure);

async function lock(name, words) {
  const held = await hf.lock(decodeURIComponent(words[0]), optionsOf(words.slice(1))).catch((error) => {
    errors.set(name, error);
    throw error;
  });
  locks.set(name, held);
  held.signal.addEventListener('abort', () => say(name, 'told', held.signal.reason.reason));
  return ['held', held.token];
}

async function crowd(count, name, wait) {
  let inside = 0;
  let most = 0;
  const errors = [];
  const one = () =>
    hf
      .withLockAll(name.split(','), { wait: ms(wait) }, async () => {
        most = Math.max(most, ++inside);
        await new Promise(setImmediate);
        inside--;
      })
      .catch((error) => errors.push(error));
  await Promise.all(Array.from({ length: Number(count) }, one));
  return [count - errors.length, most, errors[0]?.message ?? '-'];
}

/** One lock after the other, for so long, each of a new name or all of one; tests/bench asks. */
async function spin(time, names) {
  const begun = performance.now();
  let done = 0;
  while (performance.now() < begun + Number(time)) {
    const lock = await hf.lock(names === 'new' ? `spin-${begun}-${done}` : 'spin');
    await lock.unlock();
    done++;
  }
  return [done];
}

const verbs = {
  lock,
  holder: (name) => {
    const { holder } = errors.get(name);
    return holder ? ['pid', holder.pid, holder.token, holder.why] : ['nobody'];
  },
  crowd: (_name, words) => crowd(...words),
  spin: (_name, words) => spin(...words),
  valid: async (name) => [locks.get(name).validFor()],
  check: (name) => locks.get(name).check(),
  extend: (name, [time]) => locks.get(name).extend(ms(time)),
  unlock: (name) => locks.get(name).unlock(),
};

readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  const [name, verb, ...words] = line.split(' ');
  say(name, verb, ...(await outcome(Promise.resolve().then(() => verbs[verb](name, words)))));
});
say('-', 'ready');
