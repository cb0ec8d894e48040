'use strict';
/* terms: the arguments of a lock. What the daemon does not take is refused here, in the words of the packages for other languages. */

const { inspect } = require('node:util');

const YEAR = 31536000000; // ms
const PERMITS = 10000; // of a semaphore, at most
const OPTIONS = ['wait', 'signal', 'shared', 'limit', 'permits', 'lease', 'maxHold', 'owner', 'why', 'onWait'];

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
  if (names.length === 0) throw new TypeError('no name is given');
  for (const name of names) {
    checkBytes('name', name, 1, 512);
    if (name.startsWith('}')) throw new TypeError(`name: it must not begin with }, as ${inspect(name)} does`);
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
 * Refuses what the daemon does not take as a text. One that may be empty may have spaces, too.
 * @param {string} what
 * @param {unknown} text
 * @param {number} least bytes
 * @param {number} most bytes
 */
function checkBytes(what, text, least, most) {
  // eslint-disable-next-line no-control-regex
  const control = least > 0 ? /[\u0000-\u0020\u007f-\u009f]/ : /[\u0000-\u001f\u007f-\u009f]/;
  if (typeof text !== 'string') throw new TypeError(`${what}: a string is needed, not ${shown(text)}`);
  if (/\p{Surrogate}/u.test(text)) throw new TypeError(`${what}: half a surrogate pair is no UTF-8, as in ${inspect(text)}`);
  const length = Buffer.byteLength(text);
  if (length >= least && length <= most && !control.test(text)) return;
  const bytes = least > 0 ? `${least} to ${most} bytes without spaces and` : `at most ${most} bytes without`;
  throw new TypeError(`${what}: ${bytes} control characters are needed, not ${inspect(text)}`);
}

/**
 * @param {string} what
 * @param {unknown} count
 * @param {number} most
 */
function permitsOf(what, count, most) {
  if (!Number.isSafeInteger(count) || /** @type {number} */ (count) < 1 || /** @type {number} */ (count) > most) {
    throw new RangeError(`${what}: a whole number from 1 to ${most} is needed, not ${shown(count)}`);
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
  const { wait, shared, limit, permits, lease, maxHold, owner, why, onWait } = options;
  if (shared && limit !== undefined) throw new TypeError('a lock is shared, or has a limit, not both');
  if (permits !== undefined && limit === undefined) throw new TypeError('permits needs a limit');
  if (owner !== undefined) checkBytes('owner', owner, 1, 96);
  if (why !== undefined) checkBytes('why', why, 0, 256);
  if (onWait !== undefined && typeof onWait !== 'function') throw new TypeError(`onWait: a function is needed, not ${shown(onWait)}`);
  const words = shared ? ['SHARED'] : [];
  if (limit !== undefined) {
    words.push('LIMIT', permitsOf('limit', limit, PERMITS), 'PERMITS', permitsOf('permits', permits ?? 1, limit));
  }
  if (lease !== undefined) words.push('LEASE', String(whole('lease', lease, 1)));
  if (maxHold !== undefined) words.push('MAXHOLD', String(whole('maxHold', maxHold, 1)));
  if (why !== undefined) words.push('WHY', why);
  return {
    words,
    patience,
    ...(owner !== undefined && { owner }),
    ...(wait !== undefined && { wait: typeof wait === 'number' && wait > YEAR ? YEAR : whole('wait', wait, 0) }),
    ...(lease !== undefined && { lease }),
    ...(maxHold !== undefined && { maxHold }),
    ...(onWait !== undefined && { onWait }),
  };
}

module.exports = { checkNames, checkOptions, termsOf, whole };
