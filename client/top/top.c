/*
 * top: draws the screen, and does what the keys say. See top.h.
 *
 * On a terminal a key changes what is shown, and the screen is drawn again at once; the daemon is asked each
 * delay, and after keys that need it.
 */
#include "client/top/top.h"

#include "client/message.h"
#include "client/top/top_data.h"
#include "client/top/top_fleet.h"
#include "client/top/top_lines.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DELAY_MS 2000

struct screen {
	struct top *t;
	size_t selected;                  /* row */
	size_t first;                     /* row or line that is shown at the top */
	char selected_name[TOP_NAME_MAX]; /* of the selected row, so that it stays selected when rows move */
	char selected_host[TOP_NAME_MAX];
	bool helps;
	bool ends;
};

/* The line for messages and questions, behind the head. */
static int
message_line(const struct top *t)
{
	return (int)top_head_count(t);
}

/* Lines before the rows; the last one has the heads of the columns. */
static int
head_lines(const struct top *t)
{
	return message_line(t) + 2;
}

static void
draw_line(int y, const char *text, attr_t how)
{
	(void)move(y, 0);
	(void)clrtoeol();
	(void)attron(how);
	(void)addnstr(text, -1);
	(void)attroff(how);
}

/* The last column stays free: a character there would move the cursor to the next line. */
static size_t
screen_width(void)
{
	return COLS > 1 ? (size_t)(COLS - 1) : 1;
}

/* One line, cut at the width of the screen. */
static void
draw_cut(int y, const char *from, attr_t how)
{
	struct top_line line = {.n = 0};

	top_cell(&line, from, screen_width());
	draw_line(y, line.bytes, how);
}

static const char *const help_lines[] = {
	"w  sort by waiters           l  by the longest wait",
	"a  all hosts, or this daemon alone",
	"h  by how long it is held    n  by name",
	"up, down, k, j, PgUp, PgDn   move",
	"Enter  show one lock with its queue; Esc or Backspace  back to the list",
	"/  show names that match a glob; an empty one shows all",
	"b  break the selected lock, after a question",
	"space  ask the daemon now    ?  this help    q  quit",
};

static void
draw_rows(const struct screen *s, int height)
{
	const struct top *t = s->t;
	struct top_line line;

	int heads = head_lines(t);

	top_heads(t, screen_width(), &line);
	draw_cut(heads - 1, line.bytes, A_REVERSE);
	for (int y = heads; y < height; y++) {
		size_t i = s->first + (size_t)(y - heads);

		if (i < t->count) {
			top_row_line(t, &t->rows[i], screen_width(), &line);
			draw_cut(y, line.bytes, i == s->selected ? A_BOLD | A_STANDOUT : A_NORMAL);
		} else {
			draw_line(y, "", A_NORMAL);
		}
	}
}

static void
draw_texts(const char *const *lines, size_t count, size_t first, int top, int height)
{
	for (int y = top; y < height; y++) {
		size_t i = first + (size_t)(y - top);

		draw_cut(y, i < count ? lines[i] : "", A_NORMAL);
	}
}

static void
draw(const struct screen *s)
{
	const struct top *t = s->t;
	struct top_line line;

	int below = message_line(t);

	for (int i = 0; i < below; i++) {
		top_head(t, (size_t)i, screen_width(), &line);
		draw_cut(i, line.bytes, i == 0 ? A_BOLD : A_NORMAL);
	}
	draw_cut(below, t->message, A_BOLD);
	if (s->helps) {
		draw_texts(help_lines, sizeof(help_lines) / sizeof(*help_lines), 0, below + 1, LINES);
	} else if (t->detail[0] != '\0') {
		draw_texts((const char *const *)t->lines, t->line_count, s->first, below + 1, LINES);
	} else {
		draw_rows(s, LINES);
	}
	(void)move(below, 0);
	(void)refresh();
}

/* Rows that fit. */
static size_t
page_rows(const struct top *t)
{
	int heads = head_lines(t);

	return LINES > heads ? (size_t)(LINES - heads) : 1;
}

static void
select_row(struct screen *s, size_t row)
{
	const struct top *t = s->t;

	if (t->count == 0) {
		s->selected = s->first = 0;
		s->selected_name[0] = '\0';
		return;
	}
	s->selected = row < t->count ? row : t->count - 1;
	if (s->selected < s->first) {
		s->first = s->selected;
	} else if (s->selected >= s->first + page_rows(t)) {
		s->first = s->selected - page_rows(t) + 1;
	}
	(void)snprintf(s->selected_name, sizeof(s->selected_name), "%s", t->rows[s->selected].name);
	(void)snprintf(s->selected_host, sizeof(s->selected_host), "%s", t->rows[s->selected].host);
}

/* Asks the daemon. What was selected stays selected, wherever it is now. */
static void
screen_refresh(struct screen *s)
{
	struct top *t = s->t;

	if (!top_ask(t) || t->detail[0] != '\0') {
		return;
	}
	for (size_t i = 0; s->selected > 0 && i < t->count; i++) {
		if (strcmp(t->rows[i].name, s->selected_name) == 0 &&
			strcmp(t->rows[i].host, s->selected_host) == 0) {
			select_row(s, i);
			return;
		}
	}
	select_row(s, s->selected);
}

/* Asks for a line of text. False: it was left with Esc. */
static bool
read_text(const struct screen *s, const char *question, char *out, size_t room)
{
	size_t n = 0;
	int key;

	out[0] = '\0';
	for (;;) {
		char shown[TOP_NAME_MAX + 64];

		(void)snprintf(shown, sizeof(shown), "%s%s", question, out);
		draw_cut(message_line(s->t), shown, A_BOLD);
		(void)refresh();
		key = getch();
		if (key == '\n' || key == '\r' || key == KEY_ENTER) {
			return true;
		}
		if (key == 27 || key == 3 || key == ERR) {
			return false;
		}
		if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n > 0) {
			out[--n] = '\0';
		} else if (key >= ' ' && key < 256 && key != 127 && n + 1 < room) {
			out[n++] = (char)key;
			out[n] = '\0';
		}
	}
}

static void
press_break(struct screen *s)
{
	struct top *t = s->t;
	bool listed = t->detail[0] == '\0' && s->selected < t->count;
	const char *from = listed ? t->rows[s->selected].name : t->detail;
	int64_t token = listed ? t->rows[s->selected].token : t->detail_token;
	char name[TOP_NAME_MAX], question[TOP_NAME_MAX + 64], shown[TOP_NAME_MAX], answer[8];

	if (from[0] == '\0' || token == 0) {
		(void)snprintf(t->message, sizeof(t->message), "no lock that is held is selected");
		return;
	}
	(void)snprintf(name, sizeof(name), "%s", from);
	(void)escape_text(shown, sizeof(shown), slice_of(name), ESCAPE_PLAIN);
	(void)snprintf(question, sizeof(question), "break %s? Its holder loses it. yes or no: ", shown);
	if (read_text(s, question, answer, sizeof(answer)) && strcmp(answer, "yes") == 0) {
		top_break(t, name, token);
		screen_refresh(s);
	} else {
		(void)snprintf(t->message, sizeof(t->message), "not broken");
	}
}

static void
press_sort(struct screen *s, enum top_sort sort)
{
	s->t->sort = sort;
	top_sort(s->t);
	s->first = 0;
	select_row(s, 0);
}

static void
press_filter(struct screen *s)
{
	char glob[TOP_NAME_MAX];

	if (read_text(s, "names that match: ", glob, sizeof(glob))) {
		(void)snprintf(s->t->filter, sizeof(s->t->filter), "%s", glob);
		s->first = s->selected = 0;
		screen_refresh(s);
	}
}

static void
press_all(struct screen *s)
{
	top_switch(s->t, !s->t->here);
	s->first = s->selected = 0;
	screen_refresh(s);
}

static void
press_detail(struct screen *s, bool into)
{
	struct top *t = s->t;

	if (into && s->selected < t->count) {
		(void)snprintf(t->detail, sizeof(t->detail), "%s", t->rows[s->selected].name);
	} else {
		t->detail[0] = '\0';
	}
	s->first = 0;
	screen_refresh(s);
}

/* by: rows of the list, or lines of one lock. */
static void
press_move(struct screen *s, bool down, size_t by)
{
	size_t at = s->t->detail[0] != '\0' ? s->first : s->selected;

	at = down ? at + by : at > by ? at - by : 0;
	if (s->t->detail[0] == '\0') {
		select_row(s, at);
	} else {
		s->first = at < s->t->line_count ? at : s->first;
	}
}

static void
press(struct screen *s, int key)
{
	s->helps = false;
	s->t->message[0] = '\0';
	switch (key) {
	case 'q':
		s->ends = true;
		break;
	case 'w':
		press_sort(s, TOP_WAITERS);
		break;
	case 'l':
		press_sort(s, TOP_LONGEST);
		break;
	case 'h':
		press_sort(s, TOP_HELD);
		break;
	case 'n':
		press_sort(s, TOP_NAME);
		break;
	case 'a':
		press_all(s);
		break;
	case '/':
		press_filter(s);
		break;
	case 'b':
		press_break(s);
		break;
	case ' ':
		screen_refresh(s);
		break;
	case '?':
		s->helps = true;
		break;
	case 'k':
	case KEY_UP:
		press_move(s, false, 1);
		break;
	case 'j':
	case KEY_DOWN:
		press_move(s, true, 1);
		break;
	case KEY_PPAGE:
		press_move(s, false, page_rows(s->t));
		break;
	case KEY_NPAGE:
		press_move(s, true, page_rows(s->t));
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		press_detail(s, true);
		break;
	case 27:
	case 127:
	case 8:
	case KEY_BACKSPACE:
		press_detail(s, false);
		break;
	default:
		break;
	}
}

static int
run_screen(struct top *t, int64_t delay_ms)
{
	struct screen s = {.t = t};
	int64_t due_ms = 0;

	(void)initscr();
	(void)cbreak();
	(void)noecho();
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(50);
	while (!s.ends) {
		int64_t now_ms = clock_ms();

		if (now_ms >= due_ms) {
			screen_refresh(&s);
			due_ms = clock_ms() + delay_ms;
		}
		draw(&s);
		now_ms = clock_ms();
		timeout(due_ms > now_ms ? (int)(due_ms - now_ms) : 0);
		int key = getch();

		timeout(-1);
		if (key != ERR && key != KEY_RESIZE) {
			press(&s, key);
		}
	}
	(void)endwin();
	return STATUS_DONE;
}

/* False: there is no such order. */
static bool
sort_choose(struct top *t, const char *word)
{
	static const char *const words[] = {[TOP_LONGEST] = "longest",
		[TOP_WAITERS] = "waiters",
		[TOP_HELD] = "held",
		[TOP_NAME] = "name"};

	for (size_t i = 0; word != NULL && i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(word, words[i]) == 0) {
			t->sort = (enum top_sort)i;
			return true;
		}
	}
	return word == NULL;
}

int
task_top(const struct options *o, const struct address *a)
{
	struct top t = {.o = o, .a = a, .wire = {.fd = -1}, .here = o->here};
	int64_t delay_ms = o->delay_ms > 0 ? o->delay_ms : DELAY_MS;
	bool screen = !o->batch && isatty(STDOUT_FILENO) == 1 && isatty(STDIN_FILENO) == 1;
	int status;

	if (!sort_choose(&t, o->sort)) {
		message("--sort %s: waiters, longest, held or name is allowed", o->sort);
		return STATUS_USAGE;
	}
	(void)setlocale(LC_CTYPE, "");
	if (o->name != NULL) {
		(void)snprintf(t.filter, sizeof(t.filter), "%s", o->name);
	}
	/* What is printed to a pipe is one page, unless more are asked for. */
	status = screen ? run_screen(&t, delay_ms)
			: top_batch(&t, delay_ms, o->iterations > 0 || o->batch ? o->iterations : 1);
	top_done(&t);
	return status;
}
