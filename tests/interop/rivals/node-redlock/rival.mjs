// A rival (tests/interop/rivals/run) by node-redlock.
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import Redis from 'ioredis';
import Redlock from 'redlock';

const [, , port, name, counter] = process.argv;
const client = new Redis(Number(port), '127.0.0.1');
const redlock = new Redlock([client], { retryCount: -1, retryDelay: 5, retryJitter: 2 });

function inside() {
	let overlaps = 0;
	try {
		closeSync(openSync(counter + '.inside', 'wx'));
	} catch {
		overlaps = 1;
	}
	writeFileSync(counter, String(Number(readFileSync(counter, 'ascii')) + 1));
	rmSync(counter + '.inside', { force: true });
	return overlaps;
}

let held;
const verbs = {
	async lock() {
		console.log('locking');
		held = await redlock.acquire([name], 3000);
		console.log(`locked ${process.hrtime.bigint()}`);
	},
	async unlock() {
		const before = process.hrtime.bigint();
		await held.release();
		console.log(`unlocked ${before}`);
	},
	async count(rounds) {
		let overlaps = 0;
		for (let i = 0; i < rounds; i++) {
			const lock = await redlock.acquire([name], 10000);
			overlaps += inside();
			await lock.release();
		}
		console.log(`counted ${rounds} overlaps ${overlaps}`);
	},
	async spin(ms, names) {
		const begun = performance.now();
		let done = 0;
		while (performance.now() < begun + ms) {
			const lock = await redlock.acquire([names === 'new' ? `spin-${begun}-${done}` : 'spin'], 10000);
			await lock.release();
			done++;
		}
		console.log(`spun ${done}`);
	},
};

console.log('ready');
let last = Promise.resolve();
createInterface({ input: process.stdin })
	.on('line', (line) => {
		const [verb, rounds, names] = line.split(' ');
		last = last.then(() => verbs[verb](Number(rounds), names));
	})
	.on('close', () => process.exit(0));
