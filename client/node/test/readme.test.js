'use strict';
/* Every program of README.md runs as it stands there, with the package installed. */

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { PACKAGE, CALM, scene } = require('./stage');

const blocks = [...fs.readFileSync(path.join(PACKAGE, 'README.md'), 'utf8').matchAll(/^```(js|ts)\n(.*?)^```$/gms)];

/** Whether this Node has `await using`. */
function hasUsing() {
  try {
    return Boolean(new vm.Script('async () => { await using a = null; }'));
  } catch {
    return false;
  }
}

scene('the programs of README.md run', CALM, async (stage, ask, t) => {
  assert.ok(blocks.length >= 7);
  const modules = path.join(stage.folder, 'node_modules');
  fs.mkdirSync(modules);
  fs.symlinkSync(PACKAGE, path.join(modules, 'holdfast'));
  for (const [number, [, kind, text]] of blocks.entries()) {
    if (kind === 'ts' && !hasUsing()) {
      t.diagnostic('this Node has no `await using`: that program is only compared with lock()');
      assert.match(text, /await using lock = await hf\.lock\('deploy', { wait: 5000 }\);/);
      continue;
    }
    const file = path.join(stage.folder, `${number}.mjs`);
    fs.writeFileSync(file, text);
    const child = stage.spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (data) => (said += data));
    child.stderr.on('data', (data) => (said += data));
    const [status] = await new Promise((resolve) => child.once('close', (...how) => resolve(how)));
    assert.equal(status, 0, `${text}\n${said}`);
    assert.doesNotMatch(said, /Error|Warning/);
  }
  assert.deepEqual((await ask('LOCKS'))[1], []);
});
