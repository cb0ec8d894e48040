'use strict';
/* engine: the session of this thread at one daemon, and the connection that speaks for it.
 *
 * One engine serves all locks of a thread at its address. It connects when it is needed, comes back when the connection
 * is lost, and leaves IDLE ms after the last lock. The process lives on while a lock is held or waited for, and not for
 * the connection alone. */

const fs = require('node:fs');
const path = require('node:path');
const { isMainThread } = require('node:worker_threads');
const { originOf } = require('./address');
const { boottime, monotonic, setTimeout } = require('./clock');
const { DaemonUnreachableError, LockRefusedError } = require('./errors');
const { tell } = require('./events');
const { Line } = require('./line');
const { Looks } = require('./look');
const { Queue } = require('./queue');
const { Cut, FOREIGN, Link } = require('./wire');

const RETRY_MIN = 5; // ms between attempts to connect
const RETRY_MAX = 250;
const RETRY_REFUSED = 1000; // the daemon counts wrong passwords for all clients of this host
const HELLO_TIMEOUT = 5000; // ms for the answer to HELLO
const IDLE = 30000;

/** @type {Map<string, Engine>} */
const engines = new Map();

/**
 * The engine of this thread for this address. The longest grace that was asked for counts from the next connection on.
 * @param {import('./address').Address} address
 * @param {number} grace ms
 */
function engineFor(address, grace) {
  const key = JSON.stringify(address);
  const engine = engines.get(key) ?? new Engine(address);
  engines.set(key, engine);
  engine.grace = Math.max(engine.grace, grace);
  return engine;
}

/**
 * When this process began, ticks after boot: the 22nd field, and the second one may have spaces. A daemon that sees another
 * process at the end of the connection, a proxy, binds none.
 * @returns {string[]} none if it is unknown
 */
function started() {
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(19, 20);
  } catch {
    return [];
  }
}

/** The name of the connection: printable ASCII without spaces. */
function label() {
  const program = path.basename(process.argv[1] ?? 'node').replace(/[^!-~]/g, '_');
  return `${program.slice(0, 100)}:${process.pid}`;
}

/**
 * Whether it does not help to try again.
 * @param {Error} why
 */
function isFinal(why) {
  if (why instanceof LockRefusedError) return why.code !== 'DRAINING' && why.code !== 'LIMIT';
  return why.message === FOREIGN || errorCode(why) === 'EACCES';
}

/** @param {Error} why */
function errorCode(why) {
  return /** @type {NodeJS.ErrnoException} */ (why).code;
}

/** @typedef {{ giveUp: number, resolve: (link: Link) => void, reject: (why: Error) => void }} Seeker */

class Engine {
  grace = 0;
  line = new Line();
  queue = new Queue();
  looks = new Looks(this);
  served = false; // a daemon has answered, over this connection or an earlier one
  /** @type {Link | null} */
  link = null;
  /** @type {Map<string, import('./hold').Hold>} */
  holds = new Map(); // by tag: waited for, held, or being given back
  /** @type {Map<string, import('./hold').Hold>} */
  owned = new Map(); // by name and owner: waited for or held, and can be taken again
  label = label();
  #address;
  /** @type {Set<Seeker>} */
  #seekers = new Set();
  #seeking = false;
  #wasCut = false; // and is not connected again
  #wanted = 0; // holds for which the process has to live on
  /** @type {string | null} */
  #secret = null;
  /** @type {import('node:net').Socket | null} */
  #socket = null;
  /** @type {NodeJS.Timeout | null} */
  #pause = null;
  /** @type {WeakMap<object, boolean>} */
  #kept = new WeakMap(); // handles that keep the process alive, or do not
  /** @type {NodeJS.Timeout | null} */
  #idle = null;
  #idleSince = 0; // monotonic

  /** @param {import('./address').Address} address */
  constructor(address) {
    this.#address = address;
  }

  // --- for holds ---

  /** @param {import('./hold').Hold} hold */
  enter(hold) {
    this.holds.set(hold.tag, hold);
    this.#wanted++;
    this.#refresh();
  }

  /** The process need not live on for a hold any more: it is given back, or lost. */
  unwant() {
    this.#wanted--;
    this.#refresh();
  }

  /**
   * For how many ms this process has the name itself, so that the program may wait for itself; null: it has not.
   * @param {string} name
   */
  ours(name) {
    for (const hold of this.holds.values()) if (hold.name === name && hold.age !== null) return hold.age;
    return null;
  }

  /** @param {import('./hold').Hold} hold */
  forget(hold) {
    this.holds.delete(hold.tag);
    this.#refresh();
  }

  /**
   * The connection. If there is none, it tries to connect until giveUp (boottime), and once at least.
   * @param {number} giveUp
   * @returns {Promise<Link>}
   */
  connected(giveUp) {
    if (this.link) return Promise.resolve(this.link);
    return new Promise((resolve, reject) => {
      this.#seekers.add({ giveUp, resolve, reject });
      void this.#seek();
    });
  }

  /**
   * Sends a request that may be repeated, over as many connections as it takes.
   * @param {...string} words
   */
  async do(...words) {
    for (;;) {
      const link = await this.connected(Infinity);
      try {
        return await link.ask(...words);
      } catch (error) {
        if (!(error instanceof Cut)) throw error;
      }
    }
  }

  /**
   * @param {Error} why
   * @returns {Error}
   */
  unreachable(why) {
    if (why instanceof LockRefusedError) return why;
    const code = errorCode(why);
    const { from, elsewhere } = originOf(this.#address);
    const hint =
      code === 'ENOENT' || code === 'ECONNREFUSED'
        ? `: is it running?${elsewhere}`
        : code === 'EACCES'
          ? ': this user may not use the socket; members of the group that owns it may'
          : '';
    const text = `cannot reach holdfastd at ${this.#address.text}${from}: ${why.message}${hint}`;
    return new DaemonUnreachableError(text, { cause: why }, !isFinal(why));
  }

  // --- the connection ---

  async #seek() {
    if (this.#seeking) return;
    this.#seeking = true;
    for (let pause = RETRY_MIN; !this.link && (this.#seekers.size > 0 || this.holds.size > 0);) {
      const why = await this.#connect().then(
        () => null,
        (/** @type {Error} */ error) => error,
      );
      if (this.link) break;
      if (why instanceof LockRefusedError) pause = RETRY_REFUSED;
      for (const seeker of [...this.#seekers]) {
        if (why && (isFinal(why) || boottime() + pause >= seeker.giveUp)) {
          this.#seekers.delete(seeker);
          seeker.reject(this.unreachable(why));
        }
      }
      await this.#sleep(pause);
      pause = Math.min(2 * pause, RETRY_MAX);
    }
    this.#seeking = false;
  }

  /** @param {number} ms */
  #sleep(ms) {
    return new Promise((resolve) => {
      this.#pause = setTimeout(resolve, ms, undefined);
      this.#refresh();
    });
  }

  async #connect() {
    const socket = await Link.connect(this.#address, (begun) => {
      this.#socket = begun;
      this.#refresh();
    });
    const link = new Link(
      socket,
      (items) => this.#pushed(items),
      (ended) => this.#ended(ended),
    );
    const timer = setTimeout(() => link.end(new Error('the daemon does not answer')), HELLO_TIMEOUT);
    try {
      await this.#hello(link);
    } catch (error) {
      link.end(/** @type {Error} */ (error));
    }
    clearTimeout(timer);
    if (link.why) throw link.why;
    this.link = link;
    this.served = true;
    tell(this.#wasCut ? 'resume' : 'connect', { address: this.#address.text });
    this.#wasCut = false;
    for (const seeker of this.#seekers) seeker.resolve(link);
    this.#seekers.clear();
    for (const hold of [...this.holds.values()]) hold.online();
    this.#refresh();
  }

  /** @param {Link} link */
  async #hello(link) {
    const { user, password } = this.#address;
    const login = password ? ['AUTH', user || 'default', password] : [];
    const welcome = await link.ask('HELLO', '3', ...login, 'SETNAME', this.label);
    if (welcome instanceof LockRefusedError && !welcome.text.startsWith('unknown command')) throw welcome;
    if (!Array.isArray(welcome) || welcome[1] !== 'holdfast') throw new Error(FOREIGN);
    if (await this.#speakForSession(link)) {
      const secret = await link.ask('SESSION', 'GRACE', String(this.grace));
      if (secret instanceof LockRefusedError && secret.code === 'DRAINING') throw secret;
      this.#secret = typeof secret === 'string' ? secret : null; // else the daemon allows no such grace: a cut is a loss
    }
    await link.ask('SESSION', 'ONLOSS', 'PUSH');
  }

  /**
   * Has the connection speak for the session of before, if the daemon still knows it; else the CHECK of each hold shows that.
   * Whether the session may have a grace: on a Unix socket only one that is bound to the process, since the lock of a
   * killed process has to be free at once. A worker thread can end before the process, so its session is not bound.
   * @param {Link} link
   */
  async #speakForSession(link) {
    if (this.#address.path) return isMainThread && typeof (await link.ask('SESSION', 'BIND', ...started())) === 'number';
    if (this.#secret !== null) {
      const answer = await link.ask('SESSION', 'RESUME', this.#secret);
      if (answer instanceof LockRefusedError && answer.code !== 'ERR') throw answer;
    }
    return true;
  }

  /** @param {Link} link */
  #ended(link) {
    if (this.link !== link) return;
    this.link = null;
    this.#wasCut = true;
    tell('cut', { address: this.#address.text, error: link.why });
    for (const hold of [...this.holds.values()]) hold.offline();
    if (this.holds.size > 0 || this.#seekers.size > 0) void this.#seek();
  }

  /**
   * grant id token ms; failed id code text; lost name owner token reason.
   * @param {unknown[]} items
   */
  #pushed(items) {
    const id = items[items[0] === 'lost' ? 2 : 1];
    const hold = typeof id === 'string' ? this.holds.get(id) : undefined;
    if (!hold) return;
    if (items[0] === 'grant') hold.outcome(items.slice(2));
    else if (items[0] === 'failed') {
      hold.outcome(typeof items[2] === 'string' ? new LockRefusedError(items[2], String(items[3])) : null);
    } else if (items[0] === 'lost' && items[3] === hold.token)
      hold.told(0, new LockRefusedError('LOST', String(items[4])));
  }

  /** Keeps the process alive, or not, and leaves the daemon if nothing is held for IDLE ms. */
  #refresh() {
    const busy = this.#wanted > 0;
    for (const handle of [this.#socket, this.#pause]) {
      if (!handle || this.#kept.get(handle) === busy) continue;
      this.#kept.set(handle, busy); // a socket that is not connected yet adds a listener each time
      if (busy) handle.ref();
      else handle.unref();
    }
    if (!this.link || this.holds.size > 0) return;
    this.#idleSince = monotonic();
    if (!this.#idle) this.#leaveIn(IDLE);
  }

  /**
   * A lock that comes meanwhile lets the timer go on, which looks for how long nothing is held: a program that takes one lock after the
   * other would make and clear two for each.
   * @param {number} ms
   */
  #leaveIn(ms) {
    this.#idle = setTimeout(() => {
      this.#idle = null;
      const left = this.#idleSince + IDLE - monotonic();
      if (!this.link || this.holds.size > 0) return; // the next refresh() sees
      if (left > 0) this.#leaveIn(Math.ceil(left));
      else this.#leave();
    }, ms);
    this.#idle.unref();
  }

  #leave() {
    const link = this.link;
    if (!link || this.holds.size > 0) return;
    this.link = null;
    this.#secret = null;
    link
      .ask('QUIT')
      .catch(() => {})
      .finally(() => link.end(new Error('nothing is held')));
  }
}

module.exports = { engineFor, Engine };
