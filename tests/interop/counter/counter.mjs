// The counter (tests/interop/check-counter) by client/node: a task for each client.
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '../../../client/node/index.mjs';

const [folder, clients, seconds] = process.argv.slice(2);
const [counter, tokens] = [join(folder, 'counter'), join(folder, 'tokens')];
const end = Date.now() + seconds * 1000;
const hf = new Client(undefined, { connectTimeout: 600_000 }); // a busy machine is slow
let counted = 0;

async function work() {
	do {
		await hf.withLock('counter', {}, async (lock) => {
			await writeFile(counter, String(Number(await readFile(counter, 'ascii')) + 1));
			await appendFile(tokens, `${lock.token}\n`);
		});
		counted++;
	} while (Date.now() < end);
}

await Promise.all(Array.from({ length: Number(clients) }, work));
console.log('counted', counted);
