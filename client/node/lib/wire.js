'use strict';
/* wire: one connection to the daemon. Requests go out, answers come back in their order, pushes in between. */

const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { setInterval, setTimeout } = require('./clock');
const { LockRefusedError } = require('./errors');

const TICK = 2500; // ms between looks whether the daemon answers
const SILENT = 2; // so many ticks without a byte, although an answer is due: the daemon is gone
const CONNECT = 5000; // ms for one attempt to connect
const LINE_MAX = 1 << 16;
const BULK_MAX = 1 << 20;
const ITEMS_MAX = 1 << 10;

/** The connection ended before the answer came; the request may have been carried out. */
class Cut extends Error {}

/** A push of RESP3. */
class Push {
  /** @param {unknown[]} items */
  constructor(items) {
    this.items = items;
  }
}

/** @typedef {number | string | null | LockRefusedError | Push | unknown[]} Value */

const FOREIGN = 'what answers there is not holdfastd, but perhaps Redis: a Redis belongs under masters: in holdfast.yml';

/** @param {readonly string[]} words */
function encode(words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

/**
 * The value at `at`, and the place behind it. Undefined: more bytes are needed.
 * @param {Buffer} data
 * @param {number} at
 * @returns {{ value: Value, end: number } | undefined}
 */
function parse(data, at) {
  const end = data.indexOf('\r\n', at);
  if (end < 0) {
    if (data.length - at > LINE_MAX) throw new Error(FOREIGN);
    return undefined;
  }
  const line = data.toString('utf8', at + 1, end);
  const kind = String.fromCharCode(/** @type {number} */ (data[at]));
  const next = end + 2;
  if (kind === '+') return { value: line, end: next };
  if (kind === '-') return { value: refusal(line), end: next };
  if (kind === '_') return { value: null, end: next };
  if (kind === '#') return { value: line === 't' ? 1 : 0, end: next };
  const number = Number(line);
  if (!/^-?[0-9]+$/.test(line) || !Number.isSafeInteger(number)) throw new Error(FOREIGN);
  if (kind === ':') return { value: number, end: next };
  if (number < 0) return { value: null, end: next };
  if (kind === '$' && number <= BULK_MAX) return parseBulk(data, next, number);
  if ('*>%~'.includes(kind) && number <= ITEMS_MAX) return parseItems(data, next, kind, number);
  throw new Error(FOREIGN);
}

/**
 * @param {Buffer} data
 * @param {number} at
 * @param {number} length
 */
function parseBulk(data, at, length) {
  if (data.length < at + length + 2) return undefined;
  return { value: data.toString('utf8', at, at + length), end: at + length + 2 };
}

/**
 * @param {Buffer} data
 * @param {number} at
 * @param {string} kind
 * @param {number} count
 */
function parseItems(data, at, kind, count) {
  /** @type {unknown[]} */
  const items = [];
  for (let left = kind === '%' ? 2 * count : count; left > 0; left--) {
    const found = parse(data, at);
    if (!found) return undefined;
    items.push(found.value);
    at = found.end;
  }
  return { value: kind === '>' ? new Push(items) : items, end: at };
}

/** @param {string} line */
function refusal(line) {
  const space = line.indexOf(' ');
  return space < 0 ? new LockRefusedError(line, '') : new LockRefusedError(line.slice(0, space), line.slice(space + 1));
}

/**
 * A socket that connects. Files of TLS are read anew each time: they may have been replaced.
 * @param {import('./address').Address} address
 * @returns {net.Socket}
 */
function open({ path, host, port, tls: secure }) {
  if (path) return net.connect({ path });
  const place = { host, port, keepAlive: true, keepAliveInitialDelay: 5000 };
  if (!secure) return net.connect(place);
  const file = (/** @type {string} */ name) => (name === '' || name === 'system' ? undefined : fs.readFileSync(name));
  const servername = secure.name || (net.isIP(host) ? '' : host);
  return tls.connect({
    ...place,
    servername,
    ca: file(secure.ca),
    cert: file(secure.certificate),
    key: file(secure.key),
    minVersion: 'TLSv1.2',
  });
}

class Link {
  /** @type {{ resolve: (value: Value) => void, reject: (why: Cut) => void }[]} */
  #due = []; // of the requests that have no answer yet, the oldest first
  /** @type {Buffer[]} */
  #rest = [];
  #silent = 0;
  #corked = false;
  tells = true; // the daemon tells with a grant for how long it is good
  /** @type {Error | null} */
  why = null; // it has ended
  #push;
  #down;

  /**
   * @param {net.Socket} socket a connected one
   * @param {(items: unknown[]) => void} push
   * @param {(link: Link) => void} down is called once
   */
  constructor(socket, push, down) {
    this.socket = socket;
    this.#push = push;
    this.#down = down;
    socket.setNoDelay(true);
    socket.on('data', (data) => this.#read(data));
    socket.on('error', (error) => this.end(error));
    socket.on('end', () => this.end(new Error('the daemon closed the connection')));
    socket.on('close', () => this.end(new Error('the connection is closed')));
    this.#ticker = setInterval(() => this.#tick(), TICK);
    this.#ticker.unref();
  }

  #ticker;

  /**
   * @param {import('./address').Address} address
   * @param {(socket: net.Socket) => void} begun is called with the socket that connects
   * @returns {Promise<net.Socket>}
   */
  static connect(address, begun) {
    return new Promise((resolve, reject) => {
      const socket = open(address);
      begun(socket);
      const timer = setTimeout(() => socket.destroy(new Error('no connection within 5 s')), CONNECT);
      socket.once('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      socket.once(address.tls ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        socket.removeAllListeners('error');
        resolve(socket);
      });
    });
  }

  /**
   * Sends a request. Rejected with Cut: no answer came.
   * @param {...string} words
   * @returns {Promise<Value>}
   */
  ask(...words) {
    return new Promise((resolve, reject) => {
      if (this.why) return reject(new Cut());
      this.#due.push({ resolve, reject });
      // What is asked in one turn of the loop is sent by one system call.
      if (!this.#corked) {
        this.#corked = true;
        this.socket.cork();
        process.nextTick(() => {
          this.#corked = false;
          this.socket.uncork();
        });
      }
      this.socket.write(encode(words));
    });
  }

  /** @param {Error} why */
  end(why) {
    if (this.why) return;
    this.why = why;
    clearInterval(this.#ticker);
    this.socket.destroy();
    for (const { reject } of this.#due.splice(0)) reject(new Cut());
    this.#down(this);
  }

  /** @param {Buffer} data */
  #read(data) {
    this.#silent = 0;
    this.#rest.push(data);
    let all = this.#rest.length === 1 ? data : Buffer.concat(this.#rest);
    try {
      for (let found = parse(all, 0); found; found = all.length ? parse(all, 0) : undefined) {
        all = all.subarray(found.end);
        this.#take(found.value);
        if (this.why) return;
      }
      this.#rest = all.length ? [all] : [];
    } catch (error) {
      this.end(/** @type {Error} */ (error));
    }
  }

  /** @param {Value} value */
  #take(value) {
    if (value instanceof Push) return this.#push(value.items);
    const due = this.#due.shift();
    if (due) return due.resolve(value);
    this.end(value instanceof Error ? value : new Error(FOREIGN)); // the daemon says why it closes the connection
  }

  /**
   * Ends a connection whose daemon is silent, which a waiter would not notice. It counts ticks, and not time: while this
   * process stood still, the daemon may have answered.
   */
  #tick() {
    if (this.#due.length === 0) {
      this.#silent = 0;
      this.ask('PING').catch(() => {});
    } else if (++this.#silent >= SILENT) {
      this.end(new Error(`the daemon does not answer for ${(TICK * SILENT) / 1000} s`));
    }
  }
}

module.exports = { Link, Cut, FOREIGN, parse, encode, Push };
