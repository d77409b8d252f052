/*
 * Threads read pages of a block device past the page cache, each page once, one request at a time each. Prints how long all of it took, in ns.
 *
 * submit DEVICE THREADS REQUESTS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define THREADS_MAX 64
/* Prime to the number of pages, so that the walk comes by each once before it repeats, and far from the last. */
#define STRIDE 30011L

static int device;
static long pages, requests, next;

static void *submit(void *unused)
{
	void *page;
	long number;

	if (posix_memalign(&page, PAGE, PAGE))
		return "no memory";
	while ((number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < requests)
		if (pread(device, page, PAGE, number * STRIDE % pages * PAGE) != PAGE)
			return "a read failed";
	return unused;
}

int main(int count, char **words)
{
	pthread_t threads[THREADS_MAX];
	struct timespec begin, end;
	long many, at;
	void *failed = NULL, *result;

	if (count != 4 || (many = atol(words[2])) < 1 || many > THREADS_MAX)
		return 2;
	requests = atol(words[3]);
	device = open(words[1], O_RDONLY | O_DIRECT);
	if (device < 0 || (pages = lseek(device, 0, SEEK_END) / PAGE) < requests)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (at = 0; at < many; at++)
		if (pthread_create(&threads[at], NULL, submit, NULL))
			return 1;
	for (at = 0; at < many; at++) {
		pthread_join(threads[at], &result);
		failed = result ? result : failed;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (failed)
		fprintf(stderr, "%s\n", (char *)failed);
	printf("%ld\n", (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec);
	return failed ? 1 : 0;
}
