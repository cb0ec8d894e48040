'use strict';
/* index: the functions and classes of this package; index.d.ts describes them. */

const { parseAddress, chooseAddress } = require('./lib/address');
const { engineFor } = require('./lib/engine');
const errors = require('./lib/errors');
const { Lock } = require('./lib/lock');
const { checkNames, checkOptions, termsOf, whole } = require('./lib/terms');

const GRACE = 10000; // ms, about as long as the usual lease: a holder that comes back later was told to stop before
const CONNECT = 5000; // ms for a daemon that may be starting

class Client {
  #address;
  /** @type {import('./lib/engine').Engine | null} */
  #engine = null;
  #grace;
  #patience;

  /**
   * @param {string} [url]
   * @param {import('./index').ClientOptions} [options]
   */
  constructor(url, options = {}) {
    checkOptions(options, ['grace', 'connectTimeout']);
    const { grace = GRACE, connectTimeout = CONNECT } = options;
    this.#address = url === undefined ? null : parseAddress(url);
    this.#grace = whole('grace', grace, 0);
    this.#patience = whole('connectTimeout', connectTimeout, 0);
  }

  /**
   * @param {string} name
   * @param {import('./index').LockOptions} [options]
   */
  lock(name, options) {
    return this.lockAll([name], options);
  }

  /**
   * @param {readonly string[]} names
   * @param {import('./index').LockOptions} [options]
   */
  async lockAll(names, options = {}) {
    checkNames(names);
    const terms = termsOf(options, this.#patience);
    // Where a daemon has answered a client stays, also if the socket goes: two daemons do not exclude each other.
    if (!this.#engine?.served) this.#engine = engineFor(this.#address ?? chooseAddress(), this.#grace);
    return await Lock.take(this.#engine, names, terms, options.signal);
  }

  /**
   * @template T
   * @param {string} name
   * @param {import('./index').LockOptions | ((lock: Lock) => T | PromiseLike<T>)} options
   * @param {(lock: Lock) => T | PromiseLike<T>} [work]
   * @returns {Promise<T>}
   */
  withLock(name, options, work) {
    return this.withLockAll([name], options, work);
  }

  /**
   * @template T
   * @param {readonly string[]} names
   * @param {import('./index').LockOptions | ((lock: Lock) => T | PromiseLike<T>)} options
   * @param {(lock: Lock) => T | PromiseLike<T>} [work]
   * @returns {Promise<T>}
   */
  async withLockAll(names, options, work) {
    const task = typeof options === 'function' ? options : work;
    if (typeof task !== 'function') throw new TypeError('a function is needed that works while the lock is held');
    const lock = await this.lockAll(names, typeof options === 'function' ? {} : options);
    let result;
    try {
      result = await task(lock);
    } catch (error) {
      await lock.unlock().catch(() => {}); // the error of the work tells more
      throw lossBehind(error, lock.signal) ?? error;
    }
    await lock.unlock();
    return result;
  }
}

/**
 * The loss of the lock if it has ended a task that got its signal: what Node aborts says only AbortError.
 * @param {unknown} error
 * @param {AbortSignal} signal
 */
function lossBehind(error, signal) {
  if (!signal.aborted || !(error instanceof Error) || error.name !== 'AbortError') return null;
  return error.cause === signal.reason ? signal.reason : null;
}

const client = new Client();

/** @type {typeof import('./index')} */
module.exports = {
  Client,
  lock: client.lock.bind(client),
  lockAll: client.lockAll.bind(client),
  withLock: client.withLock.bind(client),
  withLockAll: client.withLockAll.bind(client),
  Lock,
  ...errors,
};
