'use strict';
/* history: OPERATIONS locks by four processes, while processes, the daemon and connections are killed at random, and a judge
 * of what all of them have recorded. It prints TAP; the faults follow from no seed, since the processes race anyway.
 *
 *   node test/history.js [OPERATIONS [SECONDS]]      100000 operations, within 1800 s */

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { Stage, asObject, dial, kill, nothingLeft, programs, sleep } = require('./stage');

const [operations = 100000, seconds = 1800] = process.argv.slice(2).map(Number);
const PROCESSES = 4;
const NAMES = 16;
const run = promisify(execFile);
const random = (below) => Math.floor(Math.random() * below);

class Crowd {
  faults = { worker: 0, daemon: 0, restart: 0, cut: 0, break: 0, stop: 0 };
  workers = [];
  #started = 0;

  constructor(stage) {
    this.stage = stage;
    for (let i = 0; i < NAMES; i++) fs.writeFileSync(path.join(stage.folder, `counter-${i}`), '0'.padStart(8));
    for (let i = 0; i < PROCESSES; i++) this.#start(i);
  }

  #start(place) {
    const words = [path.join(__dirname, 'history-worker.js'), this.stage.folder, `${this.#started++}`];
    this.workers[place] = this.stage.spawn(process.execPath, words, {
      stdio: ['pipe', this.stage.log, this.stage.log],
    });
  }

  /** One fault; which one is chosen by chance. */
  async fault() {
    const place = random(PROCESSES);
    const worker = this.workers[place];
    assert.deepEqual([worker.exitCode, worker.signalCode], [null, null], 'a worker has ended by itself');
    const names = Object.keys(this.faults);
    const name = names[random(names.length)];
    this.faults[name]++;
    if (name === 'worker') {
      await kill(worker);
      this.#start(place);
    } else if (name === 'daemon') {
      await kill(this.stage.daemon);
      await this.stage.startDaemon();
    } else if (name === 'restart') {
      await run(programs.holdfast, ['restart'], { env: { ...process.env, HOLDFAST_URL: this.stage.socket } });
    } else if (name === 'stop') {
      worker.kill('SIGSTOP');
      await sleep(random(200));
      worker.kill('SIGCONT');
    } else await this.#byAdmin(name, worker.pid);
  }

  async #byAdmin(name, pid) {
    const ask = await dial(this.stage.socket);
    if (name === 'cut') await this.stage.cut(ask, `history-worker.js:${pid}`);
    else {
      const { name: lock, token } = asObject((await ask('LOCKS'))[1][0]);
      if (token) await ask('BREAK', lock, 'TOKEN', token);
    }
    ask.end();
  }

  /** The workers end when what they have begun has ended. */
  async end() {
    for (const worker of this.workers) worker.stdin.end();
    const ends = this.workers.map(
      (worker) => worker.exitCode ?? new Promise((resolve) => worker.once('exit', resolve)),
    );
    assert.deepEqual(await Promise.all(ends), [0, 0, 0, 0], 'a worker failed');
  }

  /** What all workers have recorded: an array for each. */
  records() {
    return Array.from({ length: this.#started }, (_, i) => {
      const file = path.join(this.stage.folder, `history-${i}`);
      const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
      return text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split(' '));
    });
  }
}

/**
 * Judges the records. No two holds of a name overlap, tokens grow with time, and no number was written twice. A hold that is
 * open when its process was killed ends with the last record of the process. Answers the numbers of holds and of writes.
 */
function judge(records, kills) {
  const holds = Array.from({ length: NAMES }, () => []);
  const writes = Array.from({ length: NAMES }, () => []);
  for (const lines of records) {
    const open = new Map();
    for (const [what, name, token, time, count] of lines) {
      const key = `${name} ${token}`;
      if (what === 'held') open.set(key, { token: Number(token), from: BigInt(time), to: BigInt(lines.at(-1)[3]) });
      if (what === 'held') holds[name].push(open.get(key));
      else if (what === 'over') open.get(key).to = BigInt(time);
      else writes[name].push({ token: Number(token), count: Number(count) });
    }
  }
  for (const [name, all] of holds.entries()) {
    all.sort((a, b) => a.token - b.token);
    for (let i = 1; i < all.length; i++) {
      assert.notEqual(all[i].token, all[i - 1].token, `n${name}: two holds with the token ${all[i].token}`);
      assert.ok(
        all[i].from >= all[i - 1].to,
        `n${name}: the hold ${all[i].token} begins before ${all[i - 1].token} is over`,
      );
    }
  }
  let unrecorded = 0; // a worker may be killed between the write and its record
  for (const [name, all] of writes.entries()) {
    all.sort((a, b) => a.token - b.token);
    for (let i = 0; i < all.length; i++) {
      const gap = all[i].count - (all[i - 1]?.count ?? 0) - 1;
      assert.ok(gap >= 0, `n${name}: the token ${all[i].token} has written ${all[i].count}, which was written before`);
      unrecorded += gap;
    }
  }
  assert.ok(unrecorded <= kills, `${unrecorded} numbers were written by nobody, with ${kills} kills`);
  return { holds: holds.flat().length, writes: writes.flat().length };
}

async function main() {
  const stage = await Stage.start('lease: 3s\nclock-margin: 200ms\nlog: { level: warning }\n');
  try {
    const crowd = new Crowd(stage);
    const begun = Date.now();
    let done = 0;
    for (let turn = 1; done < operations; turn++) {
      assert.ok(Date.now() < begun + seconds * 1000, `${done} of ${operations} operations in ${seconds} s`);
      await sleep(random(400));
      await crowd.fault();
      if (turn % 10 === 0)
        done = crowd
          .records()
          .flat()
          .filter(([what]) => what === 'held').length;
    }
    await crowd.end();
    const ask = await dial(stage.socket);
    await nothingLeft(ask);
    ask.end();
    const found = judge(crowd.records(), crowd.faults.worker);
    const faults = Object.entries(crowd.faults).map(([name, count]) => `${count} ${name}`);
    console.log(`# ${found.holds} holds, ${found.writes} writes, in ${Math.round((Date.now() - begun) / 1000)} s`);
    console.log(`# faults: ${faults.join(', ')}`);
    console.log('ok - no two holders, no lost count, nothing left');
  } catch (error) {
    console.log(
      fs
        .readFileSync(path.join(stage.folder, 'log'), 'utf8')
        .split('\n')
        .slice(-40)
        .map((line) => `# ${line}`)
        .join('\n'),
    );
    console.log(`not ok - ${error.message.split('\n')[0]}\n# ${error.stack.replaceAll('\n', '\n# ')}`);
    process.exitCode = 1;
  } finally {
    await stage.end();
  }
}

if (require.main === module) void main();
module.exports = { judge };
