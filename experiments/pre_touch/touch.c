/*
 * Touches each page of new memory in one way, and prints what that took: pages of 4 KiB, ns of CPU, page faults as the process is charged for
 * them, kB in huge pages afterwards, and by how much the machine's counts of huge pages allocated at a fault and split grew.
 *
 * touch WAY BYTES huge|small
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096
#define HUGE_PAGE (2L << 20)

static long counted(const char *file, const char *name)
{
	FILE *lines = fopen(file, "r");
	size_t length = strlen(name);
	char line[512];
	long value = -1;

	while (lines && value < 0 && fgets(line, sizeof line, lines))
		if (!strncmp(line, name, length) && (line[length] == ' ' || line[length] == ':'))
			value = strtol(line + length + 1, NULL, 10);
	if (lines)
		fclose(lines);
	return value;
}

static int touch(volatile unsigned char *memory, long bytes, const char *way)
{
	int reads = !strcmp(way, "read_then_write"), adds = !strcmp(way, "atomic_add");
	long at;

	if (!strcmp(way, "populate"))
		return madvise((void *)memory, bytes, MADV_POPULATE_WRITE);
	for (at = 0; at < bytes; at += PAGE) {
		if (adds) {
			__atomic_fetch_add(&memory[at], 0, __ATOMIC_RELAXED);
			continue;
		}
		if (reads)
			(void)memory[at];
		memory[at] = 0;
	}
	return 0;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

int main(int count, char **words)
{
	long bytes, taken, before, splits, whole;
	struct timespec begin, end;
	unsigned char *memory;

	if (count != 4)
		return 2;
	bytes = atol(words[2]);
	memory = mmap(0, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memory = (unsigned char *)(((uintptr_t)memory + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	madvise(memory, bytes, strcmp(words[3], "huge") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	splits = counted("/proc/vmstat", "thp_split_pmd");
	whole = counted("/proc/vmstat", "thp_fault_alloc");
	before = faults();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	if (touch(memory, bytes, words[1])) {
		perror(words[1]);
		return 1;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	taken = faults() - before;
	printf("%ld %ld %ld %ld %ld %ld\n", bytes / PAGE, (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec, taken,
	       counted("/proc/self/smaps_rollup", "AnonHugePages"), counted("/proc/vmstat", "thp_fault_alloc") - whole,
	       counted("/proc/vmstat", "thp_split_pmd") - splits);
	return 0;
}
