// The pool test (tests/e2e/pools.py) of valkey-glide: a client for each task that waits, and one for all other requests. A
// request that times out is an error, and sent again here; the connection stays.
import { GlideClient, Logger, RequestError } from '@valkey/valkey-glide';
import { again, perform } from './pool-tasks.mjs';

Logger.init('off');

await perform(async (port, requestTimeout) => {
	const open = () => GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port }], requestTimeout });
	const waiting = await Promise.all(Array.from({ length: 10 }, open));
	const other = await open();
	return (words, task) =>
		again(
			() => (words[0] === 'LOCK' ? waiting[task] : other).customCommand(words),
			(error) => error.constructor === RequestError, // time-outs and lost connections are classes below it
		);
});
