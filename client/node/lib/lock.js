'use strict';
/* lock: what a caller gets, and how it is taken. */

const { boottime, race, setTimeout } = require('./clock');
const { inspect } = require('node:util');
const { DaemonUnreachableError, LockBusyError, LockRefusedError, LockTimeoutError } = require('./errors');
const { Hold } = require('./hold');

const YEAR = 31536000000; // ms
const TIMER_MAX = 0x7fffffff; // ms; a longer timer fires at once
const SLACK = 2000; // ms by which the daemon may answer a WAIT late
const OPTIONS = ['wait', 'signal', 'shared', 'limit', 'permits', 'lease', 'maxHold', 'owner', 'why'];

/** The well-known symbol, also where `await using` is compiled to something else. */
const asyncDispose = /** @type {typeof Symbol.asyncDispose} */ (
  Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')
);

class Lock {
  /** @type {Hold[]} */
  #holds = []; // in the order of the names
  #controller = new AbortController();
  /** @type {Promise<void> | null} */
  #unlocked = null;
  /** @type {import('./hold').User} */
  #user = { lose: (loss) => this.#controller.abort(loss) };

  /**
   * @param {import('./engine').Engine} engine
   * @param {readonly string[]} names
   * @param {import('./hold').Terms} terms
   * @param {AbortSignal | undefined} signal
   */
  static async take(engine, names, terms, signal) {
    const lock = new Lock();
    const until = boottime() + (terms.wait ?? Infinity);
    const stop = cancelledBy(engine, [signal, lock.signal], until);
    try {
      // In the order of their bytes, as MLOCK does: so no two lockers wait for each other.
      for (const name of [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
        lock.#holds[names.indexOf(name)] = await takeOne(engine, name, lock.#user, terms, until, stop.signal);
      }
      stop.signal.throwIfAborted();
    } catch (error) {
      await lock.unlock().catch(() => {});
      // The connection has made these errors: their stack is to name who wanted the lock.
      if (error instanceof DaemonUnreachableError || error instanceof LockRefusedError) Error.captureStackTrace(error);
      throw error;
    } finally {
      stop.done();
    }
    return lock;
  }

  get name() {
    return this.#first.name;
  }

  get #first() {
    return /** @type {Hold} */ (this.#holds[0]);
  }

  get names() {
    return this.#holds.map((hold) => hold.name);
  }

  get token() {
    return this.#first.token;
  }

  get tokens() {
    return this.#holds.map((hold) => hold.token);
  }

  get signal() {
    return this.#controller.signal;
  }

  get held() {
    return this.validFor() > 0;
  }

  validFor() {
    return Math.floor(Math.min(...this.#holds.map((hold) => hold.left(this.#user))));
  }

  throwIfLost() {
    this.signal.throwIfAborted();
  }

  /** @param {number} ms */
  async extend(ms) {
    await this.#all('EXTEND', String(whole('extend', ms, 1)));
  }

  async downgrade() {
    await this.#all('DOWNGRADE');
  }

  /** @param {[string, ...string[]]} request */
  async #all(...[verb, ...words]) {
    for (const hold of this.#holds) {
      this.throwIfLost();
      if (this.#unlocked) throw new TypeError(`the lock ${hold.name} is given back`);
      const sent = boottime();
      const value = await race(hold.engine.do(verb, hold.name, ...words, 'OWNER', hold.tag, 'TOKEN', String(hold.token)), this.signal);
      if (verb === 'EXTEND' || typeof value !== 'number') hold.told(sent, value);
      this.throwIfLost();
      if (value instanceof Error) throw value;
    }
  }

  unlock() {
    this.#unlocked ??= this.#unlock();
    return this.#unlocked;
  }

  async #unlock() {
    const ends = await Promise.allSettled(this.#holds.map((hold) => hold?.drop(this.#user)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  [asyncDispose]() {
    return this.unlock();
  }

  /**
   * @param {number} _depth
   * @param {import('node:util').InspectOptions} options
   */
  [inspect.custom](_depth, options) {
    const { name, names, token, tokens, held } = this;
    return `Lock ${inspect(names.length > 1 ? { names, tokens, held } : { name, token, held }, options)}`;
  }
}

/**
 * One signal for all that ends a wait: the signals, and a daemon that says nothing until the end of the wait.
 * @param {import('./engine').Engine} engine
 * @param {(AbortSignal | undefined)[]} signals
 * @param {number} until boottime
 */
function cancelledBy(engine, signals, until) {
  const controller = new AbortController();
  const left = until - boottime() + SLACK;
  const timer = setTimeout(
    () => controller.abort(engine.unreachable(new Error('the daemon does not answer'))),
    Math.min(left, TIMER_MAX),
  );
  if (left > TIMER_MAX) clearTimeout(timer);
  const undo = signals.map((signal) => signal && onAbort(signal, () => controller.abort(signal.reason)));
  const done = () => {
    clearTimeout(timer);
    for (const one of undo) one?.();
  };
  return { signal: controller.signal, done };
}

/** @type {WeakMap<AbortSignal, Set<() => void>>} */
const watched = new WeakMap();

/**
 * Calls back when the signal is aborted, until the function that it returns is called. Many waits may share a signal, and
 * Node warns of more than ten listeners: so there is one for all.
 * @param {AbortSignal} signal
 * @param {() => void} abort
 */
function onAbort(signal, abort) {
  if (signal.aborted) abort();
  const all = watched.get(signal) ?? new Set();
  if (!watched.has(signal)) {
    watched.set(signal, all);
    signal.addEventListener('abort', () => [...all].forEach((one) => one()), { once: true });
  }
  all.add(abort);
  return () => void all.delete(abort);
}

/**
 * Takes one name, or takes it again if its owner has it, or waits for it.
 * @param {import('./engine').Engine} engine
 * @param {string} name
 * @param {import('./hold').User} user
 * @param {import('./hold').Terms} terms
 * @param {number} until
 * @param {AbortSignal} signal
 */
async function takeOne(engine, name, user, terms, until, signal) {
  signal.throwIfAborted();
  const key = terms.owner === undefined ? null : JSON.stringify([name, terms.owner]);
  for (let same; key !== null && (same = engine.owned.get(key));) {
    if (!same.granted) await before(until, race(same.settled, signal), name, terms);
    if (same.over) continue;
    same.users.add(user);
    return same;
  }
  const hold = new Hold(engine, name, terms);
  await hold.acquire(until, signal);
  hold.users.add(user);
  if (hold.lost) await hold.drop(user);
  return hold;
}

/**
 * @param {number} until
 * @param {Promise<void>} promise
 * @param {string} name
 * @param {import('./hold').Terms} terms
 */
function before(until, promise, name, terms) {
  const left = until - boottime();
  if (left > TIMER_MAX) return promise;
  return new Promise((resolve, reject) => {
    const late = () => reject(terms.wait ? new LockTimeoutError(name, terms.wait) : new LockBusyError(name));
    const timer = setTimeout(late, Math.max(left, 0));
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * A wrong argument, for an error.
 * @param {unknown} value
 */
function shown(value) {
  if (typeof value === 'function') return 'a function';
  return `${typeof value === 'string' ? 'the string ' : ''}${inspect(value, { depth: 0, breakLength: Infinity })}`;
}

/**
 * Refuses options that are none, and those with another name: an option that does nothing may be a wait that never ends.
 * @param {unknown} options
 * @param {readonly string[]} known
 */
function checkOptions(options, known) {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`the options are an object, as { ${known[0]}: 500 }, not ${shown(options)}`);
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw new TypeError(`there is no option ${key}: the options are ${known.join(', ')}`);
  }
}

/**
 * Refuses what is no list of different names.
 * @param {unknown} names
 */
function checkNames(names) {
  if (!Array.isArray(names)) throw new TypeError(`names: an array is needed, not ${shown(names)}`);
  for (const name of names.length > 0 ? names : ['']) {
    if (typeof name !== 'string' || name === '') throw new TypeError(`a name is needed, not ${shown(name)}`);
  }
  if (new Set(names).size < names.length) throw new TypeError(`different names are needed, not ${shown(names)}`);
}

/**
 * Whole milliseconds, or a RangeError.
 * @param {string} what
 * @param {unknown} ms
 * @param {number} least
 */
function whole(what, ms, least) {
  if (typeof ms !== 'number' || !(ms >= least && ms <= YEAR)) {
    const from = least > 0 ? `${least} ms` : '0';
    throw new RangeError(`${what}: a time from ${from} to 365 days is needed, not ${shown(ms)}`);
  }
  return Math.ceil(ms);
}

/**
 * @param {string} what
 * @param {unknown} count
 */
function positive(what, count) {
  if (!Number.isSafeInteger(count) || /** @type {number} */ (count) < 1) {
    throw new RangeError(`${what}: a whole number above 0 is needed, not ${shown(count)}`);
  }
  return String(count);
}

/**
 * Reads the options of a lock. TypeError or RangeError: they make no sense.
 * @param {import('../index').LockOptions} options
 * @param {number} patience
 * @returns {import('./hold').Terms}
 */
function termsOf(options, patience) {
  checkOptions(options, OPTIONS);
  const { wait, shared, limit, permits, lease, maxHold, owner, why } = options;
  if (shared && limit !== undefined) throw new TypeError('a lock is shared, or has a limit, not both');
  if (permits !== undefined && limit === undefined) throw new TypeError('permits needs a limit');
  if (owner !== undefined && !/^[^\s]{1,96}$/.test(owner)) {
    throw new TypeError('owner: 1 to 96 characters without spaces are needed');
  }
  const words = shared ? ['SHARED'] : [];
  if (limit !== undefined) words.push('LIMIT', positive('limit', limit), 'PERMITS', positive('permits', permits ?? 1));
  if (lease !== undefined) words.push('LEASE', String(whole('lease', lease, 1)));
  if (maxHold !== undefined) words.push('MAXHOLD', String(whole('maxHold', maxHold, 1)));
  if (why !== undefined) words.push('WHY', String(why));
  return {
    words,
    patience,
    ...(owner !== undefined && { owner }),
    ...(wait !== undefined && { wait: typeof wait === 'number' && wait > YEAR ? YEAR : whole('wait', wait, 0) }),
    ...(lease !== undefined && { lease }),
    ...(maxHold !== undefined && { maxHold }),
  };
}

module.exports = { Lock, checkNames, checkOptions, termsOf, whole };
