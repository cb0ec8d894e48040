// A puppet (tests/interop/puppet.py) of valkey-glide.
import { GlideClient, Logger, RequestError } from '@valkey/valkey-glide';
import { readFileSync } from 'node:fs';
import { perform } from './lines.mjs';

const about = new URL('node_modules/@valkey/valkey-glide/package.json', import.meta.url);
const GENERAL = 'An error was signalled by the server: - ResponseError: ';
const DAY_MS = 86400000;

Logger.init('off');

perform(`valkey-glide ${JSON.parse(readFileSync(about)).version}`, {
	open: (port, kind, lost, patient) =>
		GlideClient.createClient({
			addresses: [{ host: '127.0.0.1', port }],
			...(patient ? { requestTimeout: DAY_MS } : {}),
		}),
	call: (client, words) => client.customCommand(words),
	close: (client) => client.close(),
	// Timeouts and lost connections are classes below this one.
	isReply: (error) => error.constructor === RequestError,
	replyText: (error) =>
		error.message.startsWith(GENERAL)
			? `ERR ${error.message.slice(GENERAL.length)}`
			: error.message.replace(/^([A-Z]+):/, '$1'),
});
