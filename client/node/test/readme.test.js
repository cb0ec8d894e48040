'use strict';
/* Every program of README.md runs as it stands there, with the package installed. */

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { once } = require('node:events');
const { test } = require('node:test');
const { PACKAGE, CALM, Stage, scene } = require('./stage');

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
    if (text.includes('@opentelemetry/')) continue; // it has a test of its own
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

const SPANS = `
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context, metrics as meters, trace as traces } from '@opentelemetry/api';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const exporter = new InMemorySpanExporter();
traces.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
const sums = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: sums, exportIntervalMillis: 1e8 });
meters.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
`;
const SPANS_OF_A_CALLER = `
await traces.getTracer('caller').startActiveSpan('caller', async (caller) => {
  await hf.withLock('a', () => hf.lock('a', { wait: 50 }).catch(() => {}));
  caller.end();
});
const spans = exporter.getFinishedSpans();
const { spanId } = spans.find(({ name }) => name === 'caller').spanContext();
for (const { name, parentSpanContext: parent, events } of spans) console.log(name, parent?.spanId === spanId, events.map((one) => one.name).join());
await reader.forceFlush();
for (const { descriptor, dataPoints } of sums.getMetrics()[0].scopeMetrics[0].metrics) {
  console.log(descriptor.name, descriptor.unit, ...dataPoints.map(({ attributes, value }) => attributes.outcome + ':' + value.count));
}
`;

/** Where the packages of OpenTelemetry are installed: $NODE_PATH tells. */
function openTelemetry() {
  const needed = ['api', 'context-async-hooks', 'sdk-metrics', 'sdk-trace-base'];
  const places = (process.env.NODE_PATH ?? '').split(path.delimiter).filter((place) => place !== '');
  return places.find((place) => needed.every((name) => fs.existsSync(path.join(place, '@opentelemetry', name))));
}

const skip = openTelemetry() ? false : 'OpenTelemetry is not here: NODE_PATH names no place that has its api, its two SDKs and context-async-hooks';
test('the spans and metrics of README.md', { skip }, async () => {
  const stage = await Stage.start(CALM);
  try {
    const modules = path.join(stage.folder, 'node_modules');
    fs.cpSync(/** @type {string} */ (openTelemetry()), modules, { recursive: true });
    fs.symlinkSync(PACKAGE, path.join(modules, 'holdfast'));
    const recipe = blocks.map(([, , text]) => text).find((text) => text.includes('@opentelemetry/'));
    const file = path.join(stage.folder, 'spans.mjs');
    fs.writeFileSync(file, SPANS + recipe + SPANS_OF_A_CALLER);
    const child = stage.spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
    await once(child, 'close');
    assert.deepEqual(said.trim().split('\n'), [
      'held', 'wait deploy false ', 'hold deploy false ',
      'wait a true ', 'wait a true exception', 'hold a true ', 'caller false ',
      'holdfast.lock.wait ms hold:2 fail:1', 'holdfast.lock.hold ms release:2',
    ]);
  } finally {
    await stage.end();
  }
});
