// The pool test (tests/e2e/pools.py) of ioredis: a client for each task that waits, and one for all other requests. A read
// that times out closes the connection, and what was under way is sent again over the next one by the library itself.
import { Redis } from 'ioredis';
import { perform } from './pool-tasks.mjs';

await perform((port, timeout) => {
	const options = { port, socketTimeout: timeout, maxRetriesPerRequest: null, retryStrategy: () => 5 };
	const open = () => new Redis(options).on('error', () => {});
	const waiting = Array.from({ length: 10 }, open);
	const other = open();
	return (words, task) => (words[0] === 'LOCK' ? waiting[task] : other).call(...words);
});
