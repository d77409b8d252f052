/*
 * Keeps so many reads of 4 KB in flight, past the page cache, each in a thread of its own; or so many threads that write
 * 64 KB past the page cache and wait until they are on disk, as the logs of data bases do.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096, WRITTEN = 65536 };

static const char *path;
static off_t blocks;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *read_forever(void *seed)
{
	unsigned int state = (unsigned int)(size_t)seed;
	int file = open(path, O_RDONLY | O_DIRECT);
	void *buffer;

	if (file < 0)
		fail(path);
	if (posix_memalign(&buffer, BLOCK, BLOCK))
		exit(1);
	for (;;) {
		if (pread(file, buffer, BLOCK, (rand_r(&state) % blocks) * BLOCK) < 0)
			fail(path);
	}
	return NULL;
}

static void *write_forever(void *number)
{
	int file = open(path, O_WRONLY | O_CREAT | O_DIRECT | O_DSYNC, 0600);
	void *buffer;

	if (file < 0)
		fail(path);
	if (posix_memalign(&buffer, BLOCK, WRITTEN))
		exit(1);
	memset(buffer, 'x', WRITTEN);
	for (;;) {
		if (pwrite(file, buffer, WRITTEN, (off_t)(size_t)number * WRITTEN) < 0)
			fail(path);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	void *(*work)(void *) = read_forever;
	pthread_t thread;
	long threads;
	int file;

	if (count < 3 || count > 4 || (count == 4 && strcmp(arguments[3], "sync"))) {
		fprintf(stderr, "usage: neighbour FILE THREADS [sync]\n");
		return 2;
	}
	path = arguments[1];
	threads = atol(arguments[2]);
	if (count == 4)
		work = write_forever;
	file = open(path, O_RDONLY | O_CREAT, 0600);
	if (file < 0)
		fail(path);
	blocks = lseek(file, 0, SEEK_END) / BLOCK;
	for (long i = 1; i < threads; i++) {
		if (pthread_create(&thread, NULL, work, (void *)i))
			return 1;
	}
	work((void *)threads);
	return 0;
}
