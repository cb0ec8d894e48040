/*
 * memory: an allocator that runs out, for one process and while it runs. Preloaded (LD_PRELOAD) into a
 * holdfastd by the end-to-end tests; linked into nothing.
 *
 * HOLDFAST_MEMORY names a file of five int64_t of this machine: how many bytes may be in use (0: any
 * number), how many are, how many requests have failed, how many there were, and which is the last that may
 * succeed (0: any). It is mapped: a write to the first is seen by the next request, and what the process has
 * in use can be read from the second. Without the variable nothing is changed. What was asked for before the
 * file was mapped is counted as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The allocator of glibc, under the names that nothing overrides. */
void *libc_malloc(size_t n) __asm__("__libc_malloc");
void *libc_calloc(size_t n, size_t size) __asm__("__libc_calloc");
void *libc_realloc(void *p, size_t n) __asm__("__libc_realloc");
void libc_free(void *p) __asm__("__libc_free");

/* A preloaded library is called by functions that know nothing of it: there is nobody to pass this in. */
static struct {
	_Atomic int64_t most;
	_Atomic int64_t used;
	_Atomic int64_t failed;
	_Atomic int64_t asked;
	_Atomic int64_t last;
} * memory_page;
static _Atomic int64_t memory_before;

__attribute__((constructor)) static void
memory_map(void)
{
	const char *path = getenv("HOLDFAST_MEMORY");
	if (!path) {
		return;
	}
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *page = fd < 0 ? MAP_FAILED
			    : mmap(NULL, sizeof *memory_page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		/* A test that thinks there is no memory must not pass. */
		abort();
	}
	close(fd);
	memory_page = page;
	memory_page->used = memory_before;
}

static void
memory_count(int64_t bytes)
{
	if (memory_page) {
		memory_page->used += bytes;
	} else {
		memory_before += bytes;
	}
}

static int64_t
memory_size(void *p)
{
	return p ? (int64_t)malloc_usable_size(p) : 0;
}

/* So many bytes more would be too many, or one request more. */
static int
memory_refuses(int64_t more)
{
	if (!memory_page || more <= 0) {
		return 0;
	}
	int late = ++memory_page->asked > memory_page->last && memory_page->last > 0;
	if (!late && (memory_page->most == 0 || memory_page->used + more <= memory_page->most)) {
		return 0;
	}
	memory_page->failed++;
	errno = ENOMEM;
	return 1;
}

void *
malloc(size_t size)
{
	if (memory_refuses((int64_t)size)) {
		return NULL;
	}
	void *p = libc_malloc(size);
	memory_count(memory_size(p));
	return p;
}

void *
calloc(size_t nmemb, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(nmemb, size, &bytes) || memory_refuses((int64_t)bytes)) {
		return NULL;
	}
	void *p = libc_calloc(nmemb, size);
	memory_count(memory_size(p));
	return p;
}

void *
realloc(void *ptr, size_t size)
{
	int64_t had = memory_size(ptr);
	if (memory_refuses((int64_t)size - had)) {
		return NULL;
	}
	void *p = libc_realloc(ptr, size);
	if (p || size == 0) {
		memory_count(memory_size(p) - had);
	}
	return p;
}

void
free(void *ptr)
{
	memory_count(-memory_size(ptr));
	libc_free(ptr);
}
