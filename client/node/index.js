'use strict';
/* index: the functions and classes of this package; index.d.ts describes them. */

const { parseAddress, chooseAddress } = require('./lib/address');
const { engineFor } = require('./lib/engine');
const errors = require('./lib/errors');
const { Lock, termsOf, whole } = require('./lib/lock');

const GRACE = 10000; // ms, about as long as the usual lease: a holder that comes back later was told to stop before
const CONNECT = 2000; // ms for a daemon that may be starting

class Client {
  #address;
  #grace;
  #patience;

  /**
   * @param {string} [url]
   * @param {import('./index').ClientOptions} [options]
   */
  constructor(url, options = {}) {
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
    if (
      names.length === 0 ||
      new Set(names).size < names.length ||
      names.some((name) => typeof name !== 'string' || !name)
    ) {
      throw new TypeError('one or more different names are needed');
    }
    const terms = termsOf(options, this.#patience);
    return Lock.take(engineFor(this.#address ?? chooseAddress(), this.#grace), names, terms, options.signal);
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
      throw error;
    }
    await lock.unlock();
    return result;
  }
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
