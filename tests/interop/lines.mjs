// The lines of a puppet (tests/interop/puppet.py), for the libraries of Node.js.
import { createInterface } from 'node:readline';

function say(number, ...words) {
	console.log([number, ...words.map((word) => String(word).split(/\s+/).filter(Boolean).join(' '))].join(' '));
}

function tell(number, value) {
	if (value === null) say(number, 'null');
	else if (typeof value === 'number') say(number, 'int', value);
	else if (Array.isArray(value)) say(number, 'list', ...value);
	else say(number, 'text', typeof value === 'object' ? JSON.stringify(value) : value);
}

/**
 * library: open(port, kind, lost, patient) -> client, call(client, words) -> reply, close(client), isReply(error), and
 * where a reply's text is not the error's message replyText(error)
 */
export function perform(name, library) {
	const port = Number(process.argv[2]);
	const clients = new Map();
	const verbs = {
		async open(number, client, kind, patient) {
			const lost = (error) => say(0, 'event', client, error ?? 'closed');
			clients.set(client, await library.open(port, kind, lost, patient !== undefined));
			say(number, 'ok');
		},
		async call(number, client, ...words) {
			tell(number, await library.call(clients.get(client), words));
		},
		async close(number, client) {
			library.close(clients.get(client));
			say(number, 'ok');
		},
	};
	say(0, 'ready', name);
	createInterface({ input: process.stdin })
		.on('line', (line) => {
			const [number, verb, ...rest] = line.split(' ');
			verbs[verb](number, ...rest).catch((error) =>
				library.isReply(error)
					? say(number, 'refused', library.replyText?.(error) ?? error.message)
					: say(number, 'broken', error.message));
		})
		.on('close', () => process.exit(0));
}
