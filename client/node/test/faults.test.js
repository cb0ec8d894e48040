'use strict';
/* What is left of locks after cuts, restarts, kills, aborts, threads and processes that end: all of it, or nothing. */

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { Worker } = require('node:worker_threads');
const hf = require('..');
const { parseAddress } = require('../lib/address');
const { engineFor } = require('../lib/engine');
const stages = require('./stage');
const { HANG, PACKAGE, CALM, BRISK, aborted, both, dial, kill, nothingLeft, scene, sleep, tell, until } = stages;

const run = promisify(execFile);
const LEASE = 2000; // of BRISK
const random = (below) => Math.random() * below;
const some = (count, work) => Promise.all(Array.from({ length: count }, (_, i) => work(i)));

/** The engine of this process for the address, with a label that CLIENT LIST shows for it alone. */
function engineAt(where, label) {
  const engine = engineFor(parseAddress(where), 10000);
  engine.label = label;
  return engine;
}

/** Another locker gets the name at once: the lease is as long as the patience of the tests. */
async function isFree(ask, name) {
  const begun = performance.now();
  assert.equal(typeof (await ask('LOCK', name, 'WAIT', HANG)), 'number');
  const took = performance.now() - begun;
  assert.ok(took < HANG / 2, `${name} is free after ${took} ms`);
  await ask('UNLOCK', name);
}

scene(
  'a process that stands still for longer than a lease, before it reads of its grant, gets a lock that is held',
  BRISK,
  async (stage, ask) => {
    const engine = engineFor(parseAddress(stage.socket), 10000);
    const client = new hf.Client(stage.socket);
    await client.withLock('a', () => {});
    const { link } = engine;
    const really = link.ask.bind(link);
    const asked = { LOCK: 0, CHECK: 0 };
    link.ask = async (...words) => {
      const value = await really(...words);
      // No timer and no answer is served meanwhile.
      if (words[0] in asked && asked[words[0]]++ === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LEASE + 10);
      return value;
    };
    const lock = await client.lock('a');
    assert.equal(lock.held, true);
    assert.ok(asked.CHECK > 1);
    delete link.ask;
    await lock.unlock();
    await nothingLeft(ask);
  },
);

// --- the daemon and its connections ---

both('a restart of the daemon is no loss, for holders nor for waiters', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const held = await client.lock('held');
  const waits = client.lock('held');
  await until('it waits', async () => (await ask.waiters('held')) === 1);
  let grants = 0;
  let stop = false;
  const work = some(10, async () => {
    while (!stop) await client.withLock('work', { wait: HANG }, () => grants++);
  });
  for (let i = 0; i < 5; i++) {
    const before = grants;
    await run(stages.programs.holdfast, ['restart'], { env: { ...process.env, HOLDFAST_URL: stage.socket } });
    await until('work goes on', () => grants > before + 20);
  }
  stop = true;
  await work;
  assert.deepEqual([held.held, held.signal.aborted], [true, false]);
  await held.unlock();
  await (await waits).unlock();
  await nothingLeft(ask);
});

both(
  'a daemon that is killed and comes back has the lock and the place in the queue',
  CALM,
  async (stage, ask, where) => {
    const client = new hf.Client(where);
    const lock = await client.lock('a');
    const waits = client.lock('a');
    await until('it waits', async () => (await ask.waiters('a')) === 1);
    await kill(stage.daemon);
    await stage.startDaemon();
    const again = await dial(stage.socket);
    await until('it waits again', async () => (await again.waiters('a')) === 1);
    assert.equal(await again('LOCK', 'a', 'WAIT', '0'), null);
    assert.deepEqual([lock.held, lock.signal.aborted], [true, false]);
    const holder = stages.asObject((await again.inspect('a')).holder);
    assert.equal(holder.token, lock.token);
    await lock.unlock();
    const next = await waits;
    assert.ok(next.token > lock.token);
    await next.unlock();
    await nothingLeft(again);
    again.end();
  },
);

both(
  'a daemon that does not come back is told before another can have the lock',
  BRISK,
  async (stage, ask, where, t) => {
    const client = new hf.Client(where, { connectTimeout: 0 });
    const lock = await client.lock('a');
    await kill(stage.daemon);
    const valid = lock.validFor();
    const begun = performance.now();
    await aborted(lock);
    t.diagnostic(`told after ${Math.round(performance.now() - begun)} ms of ${Math.round(valid)} ms`);
    assert.equal(lock.signal.reason.reason, 'unreachable');
    await assert.rejects(lock.unlock(), hf.LockLostError);
    await assert.rejects(client.lock('a', { wait: 0 }), hf.DaemonUnreachableError);
    await stage.startDaemon();
    await client.withLock('a', { wait: HANG }, () => {});
  },
);

scene('what is given back while the daemon is away was held, or was lost', CALM, async (stage) => {
  const client = new hf.Client(stage.socket);
  const [held, forgotten] = [await client.lock('held'), await client.lock('forgotten')];
  await kill(stage.daemon);
  await held.unlock(); // there is no answer, and none is needed: until now the lock was surely held
  fs.rmSync(path.join(stage.folder, 'ledger'));
  const end = forgotten.unlock();
  end.catch(() => {});
  await stage.startDaemon();
  await assert.rejects(end, (error) => error instanceof hf.LockLostError && error.reason === 'session');
});

scene('a daemon that stands still is no grant for ever', BRISK, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  const lock = await client.lock('a');
  stage.daemon.kill('SIGSTOP');
  await aborted(lock);
  assert.equal(lock.signal.reason.reason, 'unreachable');
  stage.daemon.kill('SIGCONT');
  await assert.rejects(lock.unlock(), hf.LockLostError);
  await nothingLeft(ask);
});

scene('a master that is gone is a loss within a lease', BRISK, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  const lock = await client.lock('a');
  await kill(stage.redis);
  await aborted(lock);
  assert.equal(lock.signal.reason.reason, 'expired');
  await assert.rejects(lock.unlock(), hf.LockLostError);
  await assert.rejects(
    client.lock('b', { wait: 100 }),
    (error) => error instanceof hf.LockRefusedError && error.code === 'NOMASTER',
  );
});

both('a connection that is cut keeps locks and places', CALM, async (stage, ask, where) => {
  const engine = engineAt(where, 'cutlery');
  const client = new hf.Client(where);
  const held = await client.lock('a');
  const order = [];
  const all = [];
  for (let i = 0; i < 3; i++) {
    all.push(client.withLock('a', { owner: `o${i}` }, () => order.push(i))); // each waits at the daemon
    await until('it waits', async () => (await ask.waiters('a')) === i + 1);
  }
  for (let i = 0; i < 50; i++) {
    const link = engine.link;
    await stage.cut(ask, 'cutlery');
    await until('it comes back', () => engine.link && engine.link !== link);
  }
  assert.deepEqual([held.held, held.signal.aborted], [true, false]);
  await held.unlock();
  await Promise.all(all);
  assert.deepEqual(order, [0, 1, 2]);
  await nothingLeft(ask);
});

both('waits that are aborted in every phase leave nothing', CALM, async (stage, ask, where, t) => {
  engineAt(where, 'cutlery');
  const client = new hf.Client(where);
  const inside = [0, 0, 0];
  const warned = [];
  const warn = (warning) => warned.push(warning.message);
  process.on('warning', warn);
  let [granted, ended, stop] = [0, 0, false];
  const cutter = (async () => {
    while (!stop) {
      await sleep(random(40)); // no event: a cut may come at any time
      await stage.cut(ask, 'cutlery');
    }
  })();
  await some(20, async (i) => {
    for (let n = 0; n < 50; n++) {
      const name = (i + n) % inside.length;
      const controller = new AbortController();
      const { signal } = controller;
      if (n % 10 === 3) controller.abort();
      const timer = n % 10 === 7 ? undefined : setTimeout(() => controller.abort(), random(8));
      const names = n % 5 === 0 ? ['z', `${name}`] : [`${name}`];
      const lock = await client.lockAll(names, { signal }).catch((error) => error);
      clearTimeout(timer);
      if (lock instanceof Error) {
        assert.equal(lock.name, 'AbortError', lock.stack);
        ended++;
        continue;
      }
      granted++;
      assert.equal(++inside[name], 1, 'two holders');
      await sleep(random(0.5));
      inside[name]--;
      await lock.unlock();
    }
  });
  stop = true;
  await cutter;
  process.off('warning', warn);
  assert.deepEqual(warned, []); // as of listeners that a socket without a connection gathers
  t.diagnostic(`${granted} granted, ${ended} aborted`);
  assert.ok(granted > 0 && ended > 0, 'not every phase was met');
  await nothingLeft(ask);
});

both('waits that end early leave nothing', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  await some(20, async () => {
    for (let n = 0; n < 20; n++) {
      await client
        .withLock('a', { wait: random(5) }, () => sleep(random(3)))
        .catch((error) => assert.ok(error instanceof hf.LockBusyError || error.code === 'NOMASTER', error.stack));
    }
  });
  await nothingLeft(ask);
});

both('1,000 lockers count', CALM, async (stage, ask, where, t) => {
  const client = new hf.Client(where);
  let [counter, inside, last] = [0, 0, 0];
  const begun = performance.now();
  await some(1000, async () => {
    for (let n = 0; n < 5; n++) {
      await client.withLock('counter', async (lock) => {
        assert.equal(++inside, 1);
        assert.ok(lock.token > last);
        last = lock.token;
        const read = counter;
        await null;
        counter = read + 1;
        inside--;
      });
    }
  });
  assert.equal(counter, 5000);
  t.diagnostic(`${Math.round(5000 / ((performance.now() - begun) / 1000))} locks in a second`);
  await nothingLeft(ask);
});

scene('a process that stands still beyond its deadline has its lock afterwards', BRISK, async (stage) => {
  const client = new hf.Client(stage.socket);
  const lock = await client.lock('a');
  for (let i = 0; i < 3; i++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500); // the event loop as well
    assert.equal(lock.held, false);
    await until('it is told', () => lock.held || lock.signal.aborted);
    assert.equal(lock.signal.aborted, false, String(lock.signal.reason));
  }
  await lock.unlock();
});

// --- processes and threads ---

const HOLDER = `
  hf.lock(process.argv[1]).then((lock) => {
    const heir = require('node:child_process').spawn('sleep', ['600'], { stdio: 'ignore' });
    console.log(heir.pid);
  });`;

scene('the lock of a killed process is free at once', CALM, async (stage, ask, t) => {
  const client = new hf.Client(stage.socket);
  const took = [];
  for (let i = 0; i < 10; i++) {
    const holder = stage.program(HOLDER, { words: ['a'] });
    const heir = Number(await holder.next()); // a process that it has started lives on
    const waits = client.lock('a');
    await until('it waits', async () => (await ask.waiters('a')) === 1);
    const begun = performance.now();
    holder.kill('SIGKILL');
    const lock = await waits;
    took.push(performance.now() - begun);
    await lock.unlock();
    process.kill(heir, 'SIGKILL');
  }
  tell(t, 'kill of the holder to the next grant', took, 5000);
});

scene('over TCP the lock of a killed process is free after the grace and the lease', BRISK, async (stage, ask) => {
  const holder = stage.program(
    `new hf.Client('${stage.tcp}', { grace: 100 }).lock('a').then(() => console.log('held'))`,
  );
  assert.equal(await holder.next(), 'held');
  assert.equal(await ask('LOCK', 'a', 'WAIT', '0'), null);
  holder.kill('SIGKILL');
  await isFree(ask, 'a');
});

scene('a process that ends without unlocking leaves nothing', CALM, async (stage, ask) => {
  for (const end of [
    'process.exit(3)',
    'setImmediate(() => { throw new Error("a bug") })',
    'process.kill(process.pid)',
  ]) {
    const child = stage.program(`hf.lock('a').then(() => { console.log('held'); ${end} })`);
    assert.equal(await child.next(), 'held');
    await child.ended;
    await isFree(ask, 'a');
  }
  await ask('LOCK', 'a');
  const waits = stage.program("hf.lock('a')");
  await until('it waits', async () => (await ask.waiters('a')) === 1);
  await kill(waits);
  await until('it does not wait', async () => (await ask.waiters('a')) === 0);
});

scene('a process ends when its last lock is given back, and not before', CALM, async (stage, ask) => {
  const child = stage.program(`
    hf.lock('a').then((lock) => {
      console.log(lock.token);
      lock.signal.addEventListener('abort', () => console.log(lock.signal.reason.reason));
    });
    hf.lock('b').then((lock) => lock.unlock());`);
  const token = await child.next();
  await ask('BREAK', 'a', 'TOKEN', token);
  assert.equal(await child.next(), 'broken');
  assert.deepEqual(await child.ended, [0, null]);
});

const THREAD = `
  const { workerData, parentPort } = require('node:worker_threads');
  const hf = require(workerData.package);
  new hf.Client(workerData.where).lock('a').then((lock) => {
    parentPort.postMessage(lock.token);
    parentPort.once('message', () => lock.unlock().then(() => process.exit()));
  });`;

scene('worker threads are lockers, and a thread that ends leaves nothing', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  const options = { eval: true, workerData: { package: PACKAGE, where: stage.socket } };
  const held = await client.lock('a');
  const first = new Worker(THREAD, options);
  const firstHas = once(first, 'message');
  await until('it waits', async () => (await ask.waiters('a')) === 1);
  await held.unlock();
  const [token] = await firstHas;
  assert.ok(token > held.token);
  await assert.rejects(client.lock('a', { wait: 0 }), hf.LockBusyError);
  const second = new Worker(THREAD, options);
  const secondHas = once(second, 'message');
  await until('it waits', async () => (await ask.waiters('a')) === 1);
  await first.terminate();
  const [next] = await secondHas;
  assert.ok(next > token);
  second.postMessage('unlock');
  await once(second, 'exit');
  await isFree(ask, 'a');
});

const CLUSTER = `
  const cluster = require('node:cluster');
  const [exec, ...args] = process.argv.slice(1);
  cluster.setupPrimary({ exec, args, execArgv: [] });
  const told = [];
  for (let i = 0; i < 4; i++) {
    const worker = cluster.fork();
    worker.on('message', (count) => {
      told[i] = count;
      if (i === 0 && count === 10) worker.process.kill('SIGKILL');
    });
    worker.on('exit', () => {
      if (Object.keys(cluster.workers).length === 0) console.log(told.join(' '));
    });
  }`;
const CLUSTER_WORKER = `
  const fs = require('node:fs');
  const [, , where, file] = process.argv;
  const hf = require(where);
  const fd = fs.openSync(file, 'r+');
  (async () => {
    for (let i = 1; i <= 25; i++) {
      await hf.withLock('a', async () => {
        const bytes = Buffer.alloc(8);
        fs.readSync(fd, bytes, 0, 8, 0);
        const count = Number(bytes) + 1;
        await new Promise(setImmediate);
        fs.writeSync(fd, String(count).padStart(8), 0);
      });
      await new Promise((resolve) => process.send(i, resolve));
    }
    process.disconnect();
  })();`;

scene(
  'the workers of a cluster exclude each other, and one that is killed leaves nothing',
  CALM,
  async (stage, ask) => {
    const [worker, counter] = ['worker.js', 'counter'].map((name) => path.join(stage.folder, name));
    fs.writeFileSync(worker, CLUSTER_WORKER);
    fs.writeFileSync(counter, '0'.padStart(8));
    const child = stage.program(CLUSTER, { words: [worker, PACKAGE, counter] });
    const told = (await child.next()).split(' ').map(Number);
    await child.ended;
    assert.deepEqual(told.slice(1), [25, 25, 25]);
    const counted = Number(fs.readFileSync(counter, 'utf8')) - told.reduce((a, b) => a + b);
    assert.ok(counted === 0 || counted === 1, `${told} and ${counted}`); // the killed one may have counted without a word
    await nothingLeft(ask);
  },
);
