/*
 * scenario: see scenario.h.
 */
#include "tests/sim/world/scenario.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
scenario_begin_permits(struct scenario *play, unsigned hosts, unsigned masters, int64_t permits)
{
	struct plan plan = {.seed = 1,
		.hosts = hosts,
		.names = 2,
		.masters = masters,
		.links = 1,
		.lease_ms = 1000,
		.margin_ms = 100,
		.streak = 1,
		.streak_ms = 10,
		.permits = permits,
		.wait_ms = -1,
		.most_permits = permits,
		.trusted = true};
	world_open(&play->w, &plan, true);
	play->w.phase = PHASE_CALM;
	world_run_until(&play->w, 300000);
	play->told = play->w.trace.n;
}

void
scenario_begin(struct scenario *play, unsigned hosts, unsigned masters)
{
	scenario_begin_permits(play, hosts, masters, 0);
}

void
scenario_end(struct scenario *play)
{
	ck_assert_msg(!play->w.failed, "%s\nwhen: %s", play->w.failure.why, play->w.failure.when);
	world_close(&play->w);
}

void
scenario_pass_ms(struct scenario *play, int ms)
{
	world_run_until(&play->w, play->w.now_us + ms * 1000);
}

void
scenario_connect(struct scenario *play, unsigned c, unsigned d)
{
	struct client *client = &play->w.clients[c];
	*client = (struct client){.world = &play->w, .index = c, .manual = true};
	play->conns[c] = client->conn = conn_open(client, &play->w.hosts[d], false);
	scenario_pass_ms(play, 1);
}

void
scenario_ask(struct scenario *play, unsigned c, const struct request *request)
{
	struct request r = *request;
	if (r.kind == KIND_PERMITS && r.limit == 0)
		r.limit = play->w.plan.permits;
	conn_send(play->conns[c], &r);
	scenario_pass_ms(play, 2);
}

static const char *
skip_noise(const char *line)
{
	static const char *const noise[] = {
		" hello ", " link ", "subscribed", "master.", "lease.", "lock.", "starts as"};
	size_t n = strcspn(line, "\n");
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		if (memmem(line, n, noise[i], strlen(noise[i])) != NULL)
			return line + n + 1;
	return line;
}

/* One line without its time; long numbers become T, a lease's owner D, attempts and empty fields go. */
static const char *
put_line(const char *line, char *out)
{
	line = strchr(line, ']') + 2;
	while (*line != '\n') {
		size_t hex = strspn(line, "0123456789abcdef"), digits = strspn(line, "0123456789");
		if (hex == 32) {
			*out++ = 'D';
			line += hex;
			line += *line == ':' ? 1 + strspn(line + 1, "0123456789abcdefghijklmnopqrstuv") : 0;
		} else if (digits > 12) {
			*out++ = 'T';
			line += digits;
		} else if (strncmp(line, " tokens ", 8) == 0) {
			line += strcspn(line, "\n");
		} else if (*line == '#') {
			line += 1 + strspn(line + 1, "0123456789");
			out -= out[-1] == ' ';
		} else {
			*out++ = *line++;
		}
	}
	*out++ = '\n';
	*out = '\0';
	return line + 1;
}

const char *
scenario_story(struct scenario *play)
{
	static char text[8192];
	char *out = text;
	const char *line = play->w.trace.text + play->told;
	*out = '\0';
	while (*line != '\0') {
		const char *next = skip_noise(line);
		if (next == line) {
			next = put_line(line, out);
			out += strlen(out);
		}
		line = next;
	}
	play->told = play->w.trace.n;
	return text;
}
