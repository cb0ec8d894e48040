'use strict';
/* errors: what a lock can fail with. Wrong arguments are a TypeError or a RangeError; an aborted wait fails with the reason
 * of its signal. */

const { sentence } = require('./look');

// Refusals that pass: the same request may be granted later. The others want the program or the configuration to be changed.
const PASSING = ['NOMASTER', 'GUARD', 'MASTERERR', 'DRAINING', 'LIMIT', 'DEADLOCK', 'LOST'];

/** The base of all errors of this package. `code` is one word. `transient`: the same call may succeed later. */
class HoldfastError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.transient = true;
  }
}

/** Another locker has the name. Nothing is held, and nothing waits any more. */
class LockBusyError extends HoldfastError {
  /**
   * @param {string} name
   * @param {import('../index').Holder | null} [holder]
   * @param {number | null} [ours] ms for which this process has the name itself
   * @param {string} [what]
   * @param {string} [code]
   */
  constructor(name, holder = null, ours = null, what = 'is taken', code = 'BUSY') {
    const itself = ours === null ? '' : `; this process holds it itself, for ${(ours / 1000).toFixed(1)}s: is an unlock missing?`;
    super(code, `the lock ${name} ${what}${itself || `: ${holder ? sentence(holder) : 'another locker has it'}`}`);
    this.lock = name;
    this.holder = holder;
  }
}

/** Another locker had the name for the whole of `wait`. */
class LockTimeoutError extends LockBusyError {
  /**
   * @param {string} name
   * @param {number} wait ms
   * @param {import('../index').Holder | null} [holder]
   * @param {number | null} [ours] ms for which this process has the name itself
   */
  constructor(name, wait, holder = null, ours = null) {
    super(name, holder, ours, `was not granted within ${wait} ms`, 'TIMEOUT');
  }
}

/** The lock was held and is not any more: stop using what it protects. */
class LockLostError extends HoldfastError {
  /**
   * @param {string} name
   * @param {number} token
   * @param {string} reason
   * @param {string} text
   */
  constructor(name, token, reason, text) {
    super('LOST', `the lock ${name} is lost: ${text}`);
    this.lock = name;
    this.token = token;
    this.reason = reason;
  }
}

/** The daemon cannot grant the lock, or the request is wrong. `code` is its word, as NOMASTER, `text` its explanation. */
class LockRefusedError extends HoldfastError {
  /**
   * @param {string} code
   * @param {string} text
   */
  constructor(code, text) {
    super(code, `holdfastd refuses: ${code} ${text}`);
    this.text = text;
    this.transient = PASSING.includes(code) && !text.startsWith('bad name');
  }
}

/** No daemon answers at the address. */
class DaemonUnreachableError extends HoldfastError {
  /**
   * @param {string} message
   * @param {ErrorOptions} [options]
   * @param {boolean} [transient]
   */
  constructor(message, options, transient = true) {
    super('UNREACHABLE', message, options);
    this.transient = transient;
  }
}

module.exports = {
  HoldfastError,
  LockBusyError,
  LockTimeoutError,
  LockLostError,
  LockRefusedError,
  DaemonUnreachableError,
};
