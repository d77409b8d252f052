/*
 * Fills the page cache of its control group. Reads a file from start to end repeatedly, a number of MB each tenth of a
 * second, each three times, because pages that were read only once are evicted first. The file has no blocks, so
 * it does not keep a disk busy.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MB = 1 << 20, TENTH_NS = 100000000 };

static void wait_for(struct timespec *next)
{
	next->tv_nsec += TENTH_NS;
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

static int read_through(int file, off_t from, off_t to)
{
	static char buffer[MB];

	for (off_t at = from; at < to; at += MB) {
		if (pread(file, buffer, MB, at) < 0)
			return -1;
	}
	return 0;
}

int main(int count, char **arguments)
{
	off_t file_bytes, bytes_each, at = 0;
	struct timespec next;
	int file;

	if (count != 4) {
		fprintf(stderr, "usage: pressure FILE FILE_MB MB_EACH_TENTH\n");
		return 2;
	}
	file_bytes = atol(arguments[2]) * (off_t)MB;
	bytes_each = atol(arguments[3]) * (off_t)MB;
	file = open(arguments[1], O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, file_bytes)) {
		perror(arguments[1]);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		for (int time = 0; time < 3; time++) {
			if (read_through(file, at, at + bytes_each)) {
				perror(arguments[1]);
				return 1;
			}
		}
		at = at + bytes_each < file_bytes ? at + bytes_each : 0;
		wait_for(&next);
	}
}
