'use strict';
/* stage: a redis-server and a holdfastd of a test's own, and what tests ask them. The paths of the programs come from the
 * environment. Timing never decides: HANG is for what takes milliseconds on an idle machine. */

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { test } = require('node:test');
const { parseAddress } = require('../lib/address');
const { Link } = require('../lib/wire');

const HANG = 60000;
const PACKAGE = path.dirname(__dirname);
const CALM = 'lease: 60s\n';
const BRISK = 'lease: 2s\nclock-margin: 200ms\n';
const programs = { holdfastd: env('HOLDFASTD'), holdfast: env('HOLDFAST'), redis: env('REDIS_SERVER') };

/** @param {string} name */
function env(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} has to be the path of the program: use \`make check-node\``);
  return value;
}

/** A connection of the tests' own. Answers that are maps become objects. */
async function dial(where) {
  const link = new Link(
    await Link.connect(parseAddress(where), () => {}),
    () => {},
    () => {},
  );
  await link.ask('HELLO', '3');
  const ask = (...words) => link.ask(...words.map(String));
  ask.inspect = async (name) => asObject(await link.ask('INSPECT', name));
  ask.waiters = async (name) => Number((await ask.inspect(name)).waiter_count ?? 0);
  ask.end = () => link.end(new Error('the test is over'));
  return ask;
}

function asObject(items) {
  if (!Array.isArray(items)) return {};
  return Object.fromEntries(Array.from({ length: items.length / 2 }, (_, i) => [items[2 * i], items[2 * i + 1]]));
}

class Stage {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hf'));
  socket = path.join(this.folder, 's');
  programs = new Set();

  static async start(config = CALM) {
    const stage = new Stage();
    try {
      await stage.#begin(config);
    } catch (error) {
      await stage.end();
      throw error;
    }
    return stage;
  }

  async #begin(config) {
    this.port = await freePort();
    this.tcp = `127.0.0.1:${this.port}`;
    this.log = fs.openSync(path.join(this.folder, 'log'), 'a');
    const margin = config.includes('clock-margin') ? '' : 'clock-margin: 1s\n';
    fs.writeFileSync(
      path.join(this.folder, 'yml'),
      `listen:\n  - unix: ${this.socket}\n  - tcp: ${this.tcp}\nmasters: [ "unix://${this.folder}/redis" ]\n` +
        `restart-guard: off\nledger: ${this.folder}/ledger\n${margin}${config.replaceAll('FOLDER', this.folder)}`,
    );
    fs.writeFileSync(path.join(this.folder, 'password'), 'pass word\n', { mode: 0o600 });
    this.startRedis();
    await this.startDaemon();
  }

  startRedis() {
    const rest = ['--unixsocket', `${this.folder}/redis`, '--save', '', '--dir', this.folder];
    this.redis = this.spawn(programs.redis, ['--port', '0', ...rest]);
  }

  spawn(program, words, options = {}) {
    const { XDG_RUNTIME_DIR, NOTIFY_SOCKET, ...inherited } = process.env;
    const stdio = options.stdio ?? ['ignore', this.log, this.log];
    const child = spawn(program, words, {
      ...options,
      stdio,
      env: { ...inherited, HOLDFAST_URL: this.socket, ...options.env },
    });
    this.programs.add(child);
    child.once('exit', () => this.programs.delete(child));
    return child;
  }

  /** Another daemon of the same master: where it listens. */
  async sibling() {
    const socket = path.join(this.folder, 's2');
    const yml = fs.readFileSync(path.join(this.folder, 'yml'), 'utf8').replace(this.socket, socket).replace(`  - tcp: ${this.tcp}\n`, '');
    fs.writeFileSync(path.join(this.folder, 'yml2'), yml.replace(/ledger: .*/, `ledger: ${this.folder}/ledger2`));
    this.spawn(programs.holdfastd, ['-c', path.join(this.folder, 'yml2')]);
    await until('the other daemon listens', () => fs.existsSync(socket));
    return socket;
  }

  /** Resolved when locks are granted. */
  async startDaemon() {
    this.daemon = this.spawn(programs.holdfastd, ['-c', path.join(this.folder, 'yml')]);
    let said;
    await until(
      () => `holdfastd grants a lock: ${said}\n${fs.readFileSync(path.join(this.folder, 'log'))}`,
      async () => {
        const ask = await dial(this.socket).catch(() => null);
        assert.equal(this.daemon.exitCode, null, 'holdfastd has ended');
        said = await ask?.('LOCK', 'admitted', 'WAIT', '0').catch((error) => error);
        ask?.end();
        return typeof said === 'number' || said === null; // null: the daemon before has had the name
      },
    );
  }

  /** A program in JavaScript, as a process of its own. Its lines on standard output come by `next()`. */
  program(text, options = {}) {
    const words = ['-e', `const hf = require(${JSON.stringify(PACKAGE)});${text}`, ...(options.words ?? [])];
    const child = this.spawn(process.execPath, words, {
      ...options,
      stdio: ['pipe', 'pipe', this.log],
    });
    return Object.assign(child, { next: lines(child.stdout), ended: once(child, 'exit') });
  }

  /** The daemon closes all connections whose name begins with label; how many. */
  async cut(ask, label) {
    const found = String(await ask('CLIENT', 'LIST'))
      .split('\n')
      .filter((line) => line.includes(` name=${label} `))
      .map((line) => /\bid=(\d+)/.exec(line)[1]);
    for (const id of found) await ask('CLIENT', 'KILL', 'ID', id);
    return found.length;
  }

  async end() {
    for (const child of [...this.programs]) {
      child.kill('SIGCONT');
      await kill(child);
    }
    if (this.log !== undefined) fs.closeSync(this.log);
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A function that answers the next line, or null at the end. */
function lines(stream) {
  let text = '';
  let ended = false;
  stream.setEncoding('utf8');
  stream.on('data', (more) => (text += more));
  stream.on('end', () => (ended = true));
  return async () => {
    while (!text.includes('\n')) {
      if (ended) return null;
      await Promise.race([once(stream, 'data'), once(stream, 'end')]);
    }
    const line = text.slice(0, text.indexOf('\n'));
    text = text.slice(line.length + 1);
    return line;
  };
}

async function kill(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits for the loss of a lock. */
async function aborted(lock) {
  if (!lock.signal.aborted) await once(lock.signal, 'abort');
  assert.equal(lock.validFor(), 0);
}

/** Waits until done() is true. */
async function until(what, done) {
  for (const end = Date.now() + HANG; !(await done()); await sleep(1)) {
    if (Date.now() > end) assert.fail(`not within a minute: ${typeof what === 'function' ? what() : what}`);
  }
}

/** No name is held, withheld or waited for. */
async function nothingLeft(ask) {
  const left = async () => (await ask('LOCKS'))[1].map(asObject);
  await until('nothing is left', async () => (await left()).length === 0);
}

/** Prints the median and the 99th percentile in ms, and fails if that is above bound. */
function tell(t, what, took, bound) {
  took.sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((part) => took[Math.floor((took.length - 1) * part)]);
  t.diagnostic(`${what}: ${took.length} times, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
  assert.ok(p99 <= bound, `${what}: p99 ${p99} ms is above ${bound} ms`);
}

/** A test with a stage of its own. */
function scene(name, config, work) {
  test(name, { timeout: 2 * HANG }, async (t) => {
    const stage = await Stage.start(config);
    try {
      const ask = await dial(stage.socket);
      await work(stage, ask, t);
      ask.end();
    } finally {
      await stage.end();
    }
  });
}

/** The same over the Unix socket and over TCP; work gets the address. */
function both(name, config, work) {
  scene(`${name}, over a Unix socket`, config, (stage, ask, t) => work(stage, ask, stage.socket, t));
  scene(`${name}, over TCP`, config, (stage, ask, t) => work(stage, ask, stage.tcp, t));
}

module.exports = {
  Stage,
  HANG,
  PACKAGE,
  CALM,
  BRISK,
  programs,
  aborted,
  dial,
  asObject,
  kill,
  until,
  nothingLeft,
  tell,
  scene,
  both,
  sleep,
};
