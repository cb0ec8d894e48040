/*
 * A puppet (tests/interop/puppet.py) of hiredis. A context may be used by one thread at a time, so each
 * client has a mutex; hang-ups come from another thread by shutdown(2).
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CLIENTS_MAX    64
#define WORDS_MAX      16
#define LINE_MAX_BYTES 1024

struct client {
	char name[64];
	redisContext *context;
	pthread_mutex_t mutex;
};

struct call {
	char line[LINE_MAX_BYTES];
	char *word[WORDS_MAX]; /* number, verb, client, then what is sent */
	int words;
	struct client *client;
};

static void
reply_print(char *out, size_t room, const redisReply *reply)
{
	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		snprintf(out, room, "int %lld", reply->integer);
		break;
	case REDIS_REPLY_NIL:
		snprintf(out, room, "null");
		break;
	case REDIS_REPLY_ERROR:
		snprintf(out, room, "refused %s", reply->str);
		break;
	case REDIS_REPLY_ARRAY:
		snprintf(out, room, "list");
		for (size_t i = 0; i < reply->elements; i++) {
			const redisReply *item = reply->element[i];
			size_t n = strlen(out);
			if (item->type == REDIS_REPLY_INTEGER)
				snprintf(out + n, room - n, " %lld", item->integer);
			else
				snprintf(out + n, room - n, " %s", item->str ? item->str : "-");
		}
		break;
	default:
		snprintf(out, room, "text %s", reply->str);
	}
}

static void *
call_run(void *arg)
{
	struct call *call = arg;
	struct client *client = call->client;
	char out[4 * LINE_MAX_BYTES];
	pthread_mutex_lock(&client->mutex);
	redisReply *reply =
		redisCommandArgv(client->context, call->words - 3, (const char **)call->word + 3, NULL);
	if (reply)
		reply_print(out, sizeof(out), reply);
	else
		snprintf(out, sizeof(out), "broken %s", client->context->errstr);
	freeReplyObject(reply);
	pthread_mutex_unlock(&client->mutex);
	for (char *c = out; *c; c++)
		if (*c == '\r' || *c == '\n')
			*c = ' ';
	printf("%s %s\n", call->word[0], out);
	free(call);
	return NULL;
}

static struct client *
client_find(struct client *clients, const char *name)
{
	int i = 0;
	while (i < CLIENTS_MAX - 1 && clients[i].context && strcmp(clients[i].name, name) != 0)
		i++;
	return clients + i;
}

static void
client_open(struct client *client, const char *name, int port, const char *number)
{
	snprintf(client->name, sizeof(client->name), "%s", name);
	pthread_mutex_init(&client->mutex, NULL);
	client->context = redisConnect("127.0.0.1", port);
	if (client->context && !client->context->err)
		printf("%s ok\n", number);
	else
		printf("%s broken %s\n", number, client->context ? client->context->errstr : "no memory");
}

static void
line_perform(struct client *clients, struct call *call, int port)
{
	char *rest = call->line;
	for (char *word; call->words < WORDS_MAX && (word = strtok_r(rest, " \n", &rest));)
		call->word[call->words++] = word;
	if (call->words < 3)
		abort();
	struct client *client = call->client = client_find(clients, call->word[2]);
	pthread_t thread;
	if (strcmp(call->word[1], "call") == 0) {
		if (pthread_create(&thread, NULL, call_run, call) != 0 || pthread_detach(thread) != 0)
			abort();
		return;
	}
	if (strcmp(call->word[1], "open") == 0) {
		client_open(client, call->word[2], port, call->word[0]);
	} else {
		shutdown(client->context->fd, SHUT_RDWR);
		printf("%s ok\n", call->word[0]);
	}
	free(call);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 64;
	static struct client clients[CLIENTS_MAX];
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("0 ready hiredis %d.%d.%d\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
	for (;;) {
		struct call *call = calloc(1, sizeof(*call));
		if (!call)
			return 1;
		if (!fgets(call->line, sizeof(call->line), stdin)) {
			free(call);
			return 0;
		}
		line_perform(clients, call, atoi(argv[1]));
	}
}
