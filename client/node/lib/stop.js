'use strict';
/* stop: ends waits, as an AbortController does. That one costs 5 us with its first listener, and each lock would need three. */

class Stop {
  aborted = false;
  /** @type {unknown} */
  reason = undefined;
  /** @type {Set<() => void>} */
  #calls = new Set();

  /** @param {unknown} reason */
  abort(reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const call of [...this.#calls]) call();
    this.#calls.clear();
  }

  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }

  /**
   * Calls back once when it is aborted, until off().
   * @param {() => void} call
   */
  on(call) {
    this.#calls.add(call);
  }

  /** @param {() => void} call */
  off(call) {
    this.#calls.delete(call);
  }
}

module.exports = { Stop };
