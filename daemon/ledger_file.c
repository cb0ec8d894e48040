/*
 * ledger_file: see ledger_file.h. The driver calls it. It must never replace a file that another process
 * could still use.
 */
#include "daemon/ledger_file.h"

#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

#define PAGE       4096U
#define STEP_MIN   ((size_t)64 << 10)
#define STEP_MAX   ((size_t)256 << 10)
#define SHRINK     ((size_t)2 << 20) /* given back at once */
#define KEPT       ((size_t)2 << 20) /* of a ledger that was replaced */
#define SUFFIX     ".new"
#define ANY_MAGIC  "holdfast ledger "
#define MAGIC      ANY_MAGIC "1\n"
#define MAGIC_ROOM 24

struct header {
	char magic[MAGIC_ROOM];
	char clock[CLOCK_NAME_MAX]; /* the boot, see clock_name() */
	uint64_t uid;
	uint64_t inode; /* of the file that this was written to */
	uint64_t device;
	uint64_t begun;             /* bytes of entries when it was published */
	_Atomic uint64_t committed; /* bytes of entries that count */
	_Atomic uint32_t voided;
	unsigned char marks[LEDGER_MARK_BYTES];
};

_Static_assert(sizeof(struct header) <= PAGE, "the header is a page");

struct ledger_file {
	struct header *header; /* the whole file is mapped here */
	struct header *first;  /* and its first page here, which is never moved */
	size_t room;           /* bytes that are mapped and allocated, the header included */
	size_t bytes;          /* of entries */
	int fd;
	bool published;
	bool nameless; /* it was replaced, and its name is gone */
	bool cut;      /* by another program: its memory is not that of the file any more */
	char path[PATH_MAX];
};

__attribute__((format(printf, 2, 3))) static void
explain(char why[LEDGER_WHY_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, LEDGER_WHY_MAX, format, args);
	va_end(args);
}

static char *
entries_of(const struct ledger_file *f)
{
	return (char *)f->header + PAGE;
}

/* ---- a file that is there ---- */

/* Allocates the bytes from `from` on. False with errno. */
static bool
room_allocate(int fd, size_t from, size_t n)
{
	int why;

	do {
		why = posix_fallocate(fd, (off_t)from, (off_t)n);
	} while (why == EINTR);
	errno = why;
	return why == 0;
}

/* Why no process can use a ledger with this header; NULL: this process can. */
static const char *
header_fault(const struct header *h, const struct stat *seen)
{
	char clock[CLOCK_NAME_MAX];

	clock_name(clock);
	if ((size_t)seen->st_size < PAGE)
		return "it ends within its header";
	if (memcmp(h->magic, MAGIC, sizeof(MAGIC)) != 0)
		return "it is of another version";
	if (clock[0] == '\0' || strncmp(h->clock, clock, sizeof(clock)) != 0)
		return "it is of another boot";
	if (h->uid != (uint64_t)geteuid() || seen->st_uid != geteuid())
		return "it is of another user";
	if (h->inode != (uint64_t)seen->st_ino || h->device != (uint64_t)seen->st_dev)
		return "it is a copy: it was written to another file";
	if (atomic_load_explicit(&h->voided, memory_order_relaxed) != 0)
		return "it is void: another process goes on from it, or it had no room";
	if (atomic_load_explicit(&h->committed, memory_order_acquire) > (uint64_t)seen->st_size - PAGE)
		return "a part of it is missing";
	return NULL;
}

/* Reads and checks an open file; *size is set if it can be used. */
static enum ledger_found
file_judge(int fd, size_t *size, char why[LEDGER_WHY_MAX])
{
	struct header h = {.magic = ""};
	struct stat seen;
	const char *fault;
	ssize_t n;

	if (fstat(fd, &seen) != 0 || !S_ISREG(seen.st_mode)) {
		explain(why, "it is not a regular file");
		return LEDGER_LEFT;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		explain(why, "another process keeps it");
		return LEDGER_LEFT;
	}
	n = pread(fd, &h, sizeof(h), 0);
	/* A ledger may be cut within the first word. */
	if (n < 0 || memcmp(h.magic, ANY_MAGIC,
			     (size_t)n < sizeof(ANY_MAGIC) - 1 ? (size_t)n : sizeof(ANY_MAGIC) - 1) != 0) {
		explain(why, "it is not a ledger");
		return LEDGER_LEFT;
	}
	fault = header_fault(&h, &seen);
	if (fault != NULL) {
		explain(why, "%s", fault);
		return LEDGER_REFUSED;
	}
	*size = (size_t)seen.st_size;
	return LEDGER_TAKEN;
}

/* NULL, and why: out of memory. */
static struct ledger_file *
file_map(const char *path, int fd, size_t size, char why[LEDGER_WHY_MAX])
{
	struct ledger_file *f = calloc(1, sizeof(*f));
	void *map = MAP_FAILED, *first = MAP_FAILED;

	if (f != NULL)
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		first = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (first == MAP_FAILED) {
		explain(why, "it cannot be mapped: %s", strerror(errno));
		if (map != MAP_FAILED)
			munmap(map, size);
		free(f);
		return NULL;
	}
	f->header = map;
	f->first = first;
	f->room = size;
	f->bytes = (size_t)atomic_load_explicit(&f->header->committed, memory_order_relaxed);
	f->fd = fd;
	snprintf(f->path, sizeof(f->path), "%s", path);
	return f;
}

static int
file_open(const char *path)
{
	/* Without O_NONBLOCK a FIFO would stop the daemon. */
	return open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Where a ledger is until it is published. */
static void
new_path(const char *path, char out[PATH_MAX + sizeof(SUFFIX)])
{
	snprintf(out, PATH_MAX + sizeof(SUFFIX), "%s" SUFFIX, path);
}

static bool
file_is_locked(const char *path)
{
	int fd = file_open(path);
	bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

bool
ledger_file_is_held(const char *path)
{
	char at[PATH_MAX + sizeof(SUFFIX)];

	new_path(path, at);
	return file_is_locked(path) || file_is_locked(at);
}

enum ledger_found
ledger_file_take(const char *path, struct ledger_file **out, char why[LEDGER_WHY_MAX])
{
	int fd = file_open(path);
	enum ledger_found found;
	size_t size;

	*out = NULL;
	why[0] = '\0';
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return LEDGER_NONE;
	if (fd < 0) {
		explain(why, "it cannot be opened: %s", errno == ELOOP ? "it is a link" : strerror(errno));
		return LEDGER_LEFT;
	}
	found = file_judge(fd, &size, why);
	if (found == LEDGER_TAKEN) {
		*out = file_map(path, fd, size, why);
		if (*out == NULL)
			found = LEDGER_LEFT;
	}
	if (*out == NULL) {
		close(fd);
		return found;
	}
	(*out)->published = true;
	return found;
}

/* Whether the file of this descriptor has this path. */
static bool
file_is_at(int fd, const char *path)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_ino == there.st_ino &&
	       ours.st_dev == there.st_dev;
}

struct ledger_file *
ledger_file_adopt(const char *path, int fd, char why[LEDGER_WHY_MAX])
{
	struct ledger_file *f = NULL;
	size_t size;

	if (!file_is_at(fd, path))
		explain(why, "it was removed or replaced");
	else if (file_judge(fd, &size, why) != LEDGER_TAKEN)
		;
	else if (!room_allocate(fd, 0, size))
		explain(why, "its room is not there: %s", strerror(errno));
	else
		f = file_map(path, fd, size, why);
	if (f == NULL) {
		close(fd);
		return NULL;
	}
	f->published = true;
	return f;
}

/* ---- a new file ---- */

/* Makes the directory as for a socket. */
static void
directory_make(const char *path)
{
	char directory[PATH_MAX];
	char *slash;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash != NULL && slash != directory) {
		*slash = '\0';
		(void)mkdir(directory, 0755);
	}
}

/* A new, locked file. What a process has left there that was killed before it published is removed. -1 with
 * errno. */
static int
file_create(const char *path)
{
	int fd = -1, old;

	for (int attempt = 0; fd < 0 && attempt < 2; attempt++) {
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST || attempt > 0)
			continue;
		old = file_open(path);
		if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) == 0)
			(void)unlink(path);
		if (old >= 0)
			close(old);
		errno = EEXIST;
	}
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void
header_write(struct ledger_file *f)
{
	struct header *h = f->header;
	struct stat seen = {.st_ino = 0};

	(void)fstat(f->fd, &seen);
	memcpy(h->magic, MAGIC, sizeof(MAGIC));
	clock_name(h->clock);
	h->uid = (uint64_t)geteuid();
	h->inode = (uint64_t)seen.st_ino;
	h->device = (uint64_t)seen.st_dev;
	atomic_store_explicit(&h->voided, 1, memory_order_relaxed);
}

struct ledger_file *
ledger_file_new(const char *path, char why[LEDGER_WHY_MAX])
{
	char at[PATH_MAX + sizeof(SUFFIX)];
	struct ledger_file *f = NULL;
	int fd;

	new_path(path, at);
	directory_make(path);
	fd = file_create(at);
	if (fd < 0) {
		explain(why, "%.200s cannot be made: %s", at, strerror(errno));
		return NULL;
	}
	if (!room_allocate(fd, 0, STEP_MIN))
		explain(why, "%.200s has no room: %s", at, strerror(errno));
	else
		f = file_map(path, fd, STEP_MIN, why);
	if (f == NULL) {
		(void)unlink(at);
		close(fd);
		return NULL;
	}
	header_write(f);
	return f;
}

/* False with errno. */
static bool
file_grow(struct ledger_file *f, size_t n)
{
	size_t step = f->room / 4;
	void *map;

	step = step < STEP_MIN ? STEP_MIN : step > STEP_MAX ? STEP_MAX : step;
	if (step < n)
		step = n;
	step = (step + PAGE - 1) / PAGE * PAGE;
	if (!room_allocate(f->fd, f->room, step))
		return false;
	map = mremap(f->header, f->room, f->room + step, MREMAP_MAYMOVE);
	if (map == MAP_FAILED)
		return false;
	/* At once it costs a fraction of what a fault for each page costs; kernels before 5.14 cannot. */
	(void)madvise((char *)map + f->room / PAGE * PAGE, step, MADV_POPULATE_WRITE);
	f->header = map;
	f->room += step;
	return true;
}

/* Beyond the end of a file that was cut there is no memory: each access would be SIGBUS. */
static void
file_detach(struct ledger_file *f)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (mmap(f->header, f->room, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ||
		mmap(f->first, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		abort(); /* no memory for its place */
	f->cut = true;
}

bool
ledger_file_whole(struct ledger_file *f)
{
	struct stat seen;

	if (!f->cut && (fstat(f->fd, &seen) != 0 || (uint64_t)seen.st_size < f->room))
		file_detach(f);
	return !f->cut;
}

bool
ledger_file_append(struct ledger_file *f, const void *entries, size_t n)
{
	if (!ledger_file_whole(f)) {
		errno = EIO;
		return false;
	}
	if (n > f->room - PAGE - f->bytes && !file_grow(f, n))
		return false;
	memcpy(entries_of(f) + f->bytes, entries, n);
	f->bytes += n;
	atomic_store_explicit(&f->header->committed, f->bytes, memory_order_release);
	return true;
}

/* Whether the file at the path, which is not one of this process, may be replaced: none is there, or a ledger
 * that no process can use. It stays locked until then by *fd; -1: there is none. */
static bool
path_is_free(const char *path, int *fd, char why[LEDGER_WHY_MAX])
{
	enum ledger_found found;
	size_t size;

	*fd = file_open(path);
	if (*fd < 0 && errno == ENOENT)
		return true;
	if (*fd < 0) {
		explain(why, "it cannot be opened: %s", errno == ELOOP ? "it is a link" : strerror(errno));
		return false;
	}
	found = file_judge(*fd, &size, why);
	if (found == LEDGER_TAKEN)
		explain(why, "it is the ledger of another process, which has ended");
	return found == LEDGER_REFUSED;
}

/* Puts the new file in its place, and gives its name to past, if that is there. */
static bool
file_rename(struct ledger_file *f, struct ledger_file *past)
{
	char at[PATH_MAX + sizeof(SUFFIX)];

	new_path(f->path, at);
	/* musl has no function for this call. */
	if (past != NULL && syscall(SYS_renameat2, AT_FDCWD, at, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0) {
		past->published = false;
		return true;
	}
	if (rename(at, f->path) != 0)
		return false;
	if (past != NULL)
		past->nameless = true;
	return true;
}

bool
ledger_file_publish(struct ledger_file *f, struct ledger_file *past, char why[LEDGER_WHY_MAX])
{
	bool ours = past != NULL && file_is_at(past->fd, f->path);
	int there = -1;

	if (!ledger_file_whole(f) || (past != NULL && !ledger_file_whole(past))) {
		explain(why, "another program has cut it");
		return false;
	}
	if (!ours && !path_is_free(f->path, &there, why)) {
		if (there >= 0)
			close(there);
		return false;
	}
	f->header->begun = f->bytes;
	atomic_store_explicit(&f->header->voided, 0, memory_order_release);
	f->published = file_rename(f, ours ? past : NULL);
	if (!f->published) {
		explain(why, "it cannot be put in its place: %s", strerror(errno));
		ledger_file_void(f);
	}
	if (there >= 0)
		close(there);
	/* A process that is killed here leaves two usable ledgers, of which only the new one is at the path.
	 */
	if (f->published && past != NULL)
		ledger_file_void(past);
	return f->published;
}

/* ---- its end ---- */

void
ledger_file_void(struct ledger_file *f)
{
	atomic_store_explicit(&f->header->voided, 1, memory_order_release);
}

bool
ledger_file_shrink(struct ledger_file *f)
{
	size_t room = f->room > SHRINK + KEPT ? f->room - SHRINK : KEPT;

	if (!ledger_file_whole(f) || f->room <= KEPT || munmap((char *)f->header + room, f->room - room) != 0)
		return false;
	f->room = room;
	return ftruncate(f->fd, (off_t)room) == 0 && room > KEPT;
}

bool
ledger_file_again(struct ledger_file *f)
{
	char at[PATH_MAX + sizeof(SUFFIX)];

	new_path(f->path, at);
	if (!ledger_file_whole(f) || f->nameless || f->published || !file_is_at(f->fd, at))
		return false;
	f->bytes = 0;
	memset(f->first->marks, 0, sizeof(f->first->marks));
	atomic_store_explicit(&f->header->committed, 0, memory_order_release);
	return true;
}

void
ledger_file_close(struct ledger_file *f)
{
	char at[PATH_MAX + sizeof(SUFFIX)];

	if (f == NULL)
		return;
	new_path(f->path, at);
	if (!f->published && file_is_at(f->fd, at))
		(void)unlink(at);
	munmap(f->header, f->room);
	munmap(f->first, PAGE);
	close(f->fd);
	free(f);
}

void
ledger_file_remove(struct ledger_file *f)
{
	if (f == NULL)
		return;
	ledger_file_void(f);
	if (f->published && file_is_at(f->fd, f->path))
		(void)unlink(f->path);
	ledger_file_close(f);
}

/* ---- what it is ---- */

struct slice
ledger_file_entries(const struct ledger_file *f)
{
	return (struct slice){entries_of(f), f->bytes};
}

size_t
ledger_file_bytes(const struct ledger_file *f)
{
	return f->bytes;
}

size_t
ledger_file_begun(const struct ledger_file *f)
{
	return (size_t)f->header->begun;
}

unsigned char *
ledger_file_marks(const struct ledger_file *f)
{
	return f->first->marks;
}

const char *
ledger_file_path(const struct ledger_file *f)
{
	return f->path;
}

int
ledger_file_descriptor(const struct ledger_file *f)
{
	return f->fd;
}
