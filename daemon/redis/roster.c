/*
 * roster: see roster.h.
 */
#include "daemon/redis/roster.h"

#include <string.h>

bool
roster_take(struct slice *text, struct slice *name)
{
	do {
		*name = slice_word(text);
	} while (name->n == 0 && text->n > 0);
	return name->n > 0;
}

int
roster_find(const struct roster *r, struct slice name)
{
	struct slice text = roster_text(r), one;

	for (int i = 0; roster_take(&text, &one); i++)
		if (slice_equal(one, name))
			return i;
	return -1;
}

bool
roster_has(const struct roster *r, struct slice name)
{
	return roster_find(r, name) >= 0;
}

struct slice
roster_at(const struct roster *r, size_t position)
{
	struct slice text = roster_text(r), one;

	while (roster_take(&text, &one))
		if (position-- == 0)
			return one;
	return (struct slice){NULL, 0};
}

/* Names are printed, and stored with blanks between. */
static bool
name_fits(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= ' ' || name.p[i] == 0x7f)
			return false;
	return name.n > 0 && name.n < ROSTER_NAME_MAX;
}

void
roster_append(struct roster *r, struct slice name)
{
	if (!name_fits(name))
		return;
	if (r->used + name.n + 1 > sizeof r->text) {
		r->over = true;
		return;
	}
	if (r->used > 0)
		r->text[r->used++] = ' ';
	memcpy(r->text + r->used, name.p, name.n);
	r->used += name.n;
	r->n++;
}

void
roster_add(struct roster *r, struct slice name)
{
	if (!roster_has(r, name))
		roster_append(r, name);
}

void
roster_add_all(struct roster *r, const struct roster *more)
{
	struct slice text = roster_text(more), one;

	while (roster_take(&text, &one))
		roster_add(r, one);
	r->over |= more->over;
}

void
roster_read(struct roster *r, struct slice text)
{
	struct slice one;

	*r = (struct roster){0};
	while (roster_take(&text, &one))
		roster_add(r, one);
}

void
roster_drop_all(struct roster *r, const struct roster *gone)
{
	const struct roster before = *r;
	struct slice text = roster_text(&before), one;

	*r = (struct roster){.over = before.over};
	while (roster_take(&text, &one))
		if (!roster_has(gone, one))
			roster_append(r, one);
}

size_t
roster_common(const struct roster *a, const struct roster *b)
{
	struct slice text = roster_text(a), one;
	size_t n = 0;

	while (roster_take(&text, &one))
		n += roster_has(b, one);
	return n;
}

bool
roster_same(const struct roster *a, const struct roster *b)
{
	return a->n == b->n && roster_common(a, b) == a->n;
}
