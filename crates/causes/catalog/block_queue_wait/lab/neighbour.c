/* Keeps so many reads of 4 KB in flight, past the page cache, each in a thread of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096 };

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

int main(int count, char **arguments)
{
	pthread_t thread;
	long threads;
	int file;

	if (count != 3) {
		fprintf(stderr, "usage: neighbour FILE THREADS\n");
		return 2;
	}
	path = arguments[1];
	threads = atol(arguments[2]);
	file = open(path, O_RDONLY);
	if (file < 0)
		fail(path);
	blocks = lseek(file, 0, SEEK_END) / BLOCK;
	for (long i = 1; i < threads; i++) {
		if (pthread_create(&thread, NULL, read_forever, (void *)i))
			return 1;
	}
	read_forever((void *)threads);
	return 0;
}
