'use strict';
/* lock: what a caller gets, and how it is taken. */

const { boottime, lately, race, setTimeout } = require('./clock');
const { inspect } = require('node:util');
const { DaemonUnreachableError, LockBusyError, LockLostError, LockRefusedError, LockTimeoutError } = require('./errors');
const { tell } = require('./events');
const { Stop } = require('./stop');
const { whole } = require('./terms');
const { Hold, LATE, STALL } = require('./hold');

const TIMER_MAX = 0x7fffffff; // ms; a longer timer fires at once
const SLACK = 2000; // ms by which the daemon may answer a WAIT late

/** The well-known symbols, also where `await using` and `using` are compiled to something else. */
const asyncDispose = /** @type {typeof Symbol.asyncDispose} */ (
  Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')
);

const dispose = /** @type {typeof Symbol.dispose} */ (Symbol.dispose ?? Symbol.for('Symbol.dispose'));

class Lock {
  /** @type {Hold[]} */
  #holds = []; // in the order of the names
  #stop = new Stop(); // by a loss
  /** @type {AbortController | null} */
  #controller = null; // for a caller who asks for its signal
  /** @type {Promise<void> | null} */
  #unlocked = null;
  /** @type {import('./hold').User} */
  #user = {
    lose: (loss, hold) => {
      this.#stop.abort(loss);
      this.#controller?.abort(loss);
      this.#tellLoss(loss, hold);
    },
  };
  /** @type {Map<Hold, number>} */
  #since = new Map(); // when it was held (boottime), until its end is told

  /**
   * @param {import('./engine').Engine} engine
   * @param {readonly string[]} names
   * @param {import('./hold').Terms} terms
   * @param {AbortSignal | undefined} signal
   */
  static async take(engine, names, terms, signal) {
    const lock = new Lock();
    const until = terms.wait === undefined ? Infinity : boottime() + terms.wait;
    const { stop, done } = cancelledBy(engine, signal, lock.#stop, until);
    try {
      // In the order of their bytes, as MLOCK does: so no two lockers wait for each other.
      for (const name of [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
        lock.#holds[names.indexOf(name)] = await lock.#take(engine, name, terms, until, stop);
      }
      stop.throwIfAborted();
    } catch (error) {
      await lock.unlock().catch(() => {});
      // The connection has made these errors: their stack is to name who wanted the lock.
      if (error instanceof DaemonUnreachableError || error instanceof LockRefusedError) Error.captureStackTrace(error);
      throw error;
    } finally {
      done();
    }
    return lock;
  }

  /**
   * @param {import('./engine').Engine} engine
   * @param {string} name
   * @param {import('./hold').Terms} terms
   * @param {number} until
   * @param {Stop} stop
   */
  async #take(engine, name, terms, until, stop) {
    const asked = lately();
    try {
      const hold = await takeOne(engine, name, this.#user, terms, until, stop);
      const now = lately();
      this.#since.set(hold, now);
      tell('hold', { name, token: hold.token, waited: now - asked });
      return hold;
    } catch (error) {
      const holder = error instanceof LockBusyError ? error.holder : null;
      tell('fail', { name, waited: lately() - asked, error, holder });
      throw error;
    }
  }

  /**
   * Gives a hold back.
   * @param {Hold} hold
   */
  async #drop(hold) {
    try {
      await hold.drop(this.#user);
    } catch (error) {
      this.#tellLoss(error, hold);
      throw error;
    }
    tell('release', { name: hold.name, token: hold.token, held: lately() - (this.#since.get(hold) ?? 0) });
  }

  /**
   * Once for each hold.
   * @param {unknown} error
   * @param {Hold} hold
   */
  #tellLoss(error, hold) {
    const since = this.#since.get(hold);
    if (since === undefined) return;
    this.#since.delete(hold);
    tell('loss', { name: hold.name, token: hold.token, held: lately() - since, error });
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
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#stop.aborted) this.#controller.abort(this.#stop.reason);
    }
    return this.#controller.signal;
  }

  get held() {
    return this.validFor() > 0;
  }

  validFor() {
    return Math.floor(Math.min(...this.#holds.map((hold) => hold.left(this.#user))));
  }

  throwIfLost() {
    this.#stop.throwIfAborted();
  }

  async check() {
    for (const hold of this.#holds) await hold.decide(this.#user);
    this.throwIfLost();
    if (this.held) return;
    if (this.#unlocked) throw new TypeError(`the lock ${this.name} is given back`);
    throw new LockLostError(this.name, this.token, 'unreachable', 'the daemon did not answer before the announced deadline');
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
      const value = await race(hold.engine.do(verb, hold.name, ...words, 'OWNER', hold.tag, 'TOKEN', String(hold.token)), this.#stop);
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
    const ends = await Promise.allSettled(this.#holds.map((hold) => hold && this.#drop(hold)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  [asyncDispose]() {
    return this.unlock();
  }

  [dispose]() {
    this.unlock().catch(() => {}); // nobody can wait for it
    this.throwIfLost();
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
 * One stop for all that ends a wait: the signal, a loss, and a daemon that says nothing until the end of the wait.
 * @param {import('./engine').Engine} engine
 * @param {AbortSignal | undefined} signal
 * @param {Stop} loss
 * @param {number} until boottime
 */
function cancelledBy(engine, signal, loss, until) {
  const stop = new Stop();
  const left = until - lately() + SLACK;
  const late = () => {
    // If this process stood still until then, the answer is there, and only has to be read.
    if (boottime() >= until + SLACK + STALL) timer = setTimeout(silent, LATE);
    else silent();
  };
  const silent = () => stop.abort(engine.unreachable(new Error('the daemon does not answer')));
  let timer = left > TIMER_MAX ? undefined : setTimeout(late, left);
  const lost = () => stop.abort(loss.reason);
  const undo = signal && onAbort(signal, () => stop.abort(signal.reason));
  loss.on(lost);
  const done = () => {
    clearTimeout(timer);
    loss.off(lost);
    undo?.();
  };
  return { stop, done };
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
 * @param {Stop} stop
 */
async function takeOne(engine, name, user, terms, until, stop) {
  stop.throwIfAborted();
  const key = terms.owner === undefined ? null : JSON.stringify([name, terms.owner]);
  for (let same; key !== null && (same = engine.owned.get(key));) {
    if (!same.granted && !(await before(until, race(same.settled, stop)))) {
      const { holder } = terms.wait === 0 ? { holder: null } : await engine.looks.see(name);
      throw terms.wait ? new LockTimeoutError(name, terms.wait, holder) : new LockBusyError(name, holder);
    }
    if (same.over) continue;
    same.users.add(user);
    return same;
  }
  const hold = new Hold(engine, name, terms);
  await hold.acquire(until, stop);
  hold.users.add(user);
  if (hold.lost) await hold.drop(user);
  return hold;
}

/**
 * Waits for the promise: true. False: `until` has come before.
 * @param {number} until
 * @param {Promise<void>} promise
 * @returns {Promise<boolean>}
 */
async function before(until, promise) {
  const left = until - boottime();
  if (left > TIMER_MAX) return promise.then(() => true);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(left, 0), false);
    promise.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}

module.exports = { Lock };
