/*
 * Does one kind of thing a given number of times and prints how many ns each took. Reads lines
 * "faults N", "calls N", "switches N" or "requests N" until its input ends, so that recording can start in between.
 * It is the native code of Events.java, so that the recorded process is a JVM.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Small pages, each touched once. It uses the same memory each time, so that the hypervisor has already allocated it. */
static double faults(long count)
{
	size_t bytes = (size_t)count * 4096;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double took;

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	took = now_ns();
	for (size_t at = 0; at < bytes; at += 4096)
		((volatile char *)memory)[at] = 1;
	took = now_ns() - took;
	munmap(memory, bytes);
	return took;
}

static double calls(long count)
{
	double began = now_ns();

	for (long i = 0; i < count; i++)
		syscall(SYS_getppid);
	return now_ns() - began;
}

struct player {
	int in, out;
	long count;
};

static void *play(void *argument)
{
	struct player *player = argument;
	char ball = 0;

	for (long i = 0; i < player->count; i++)
		if (read(player->in, &ball, 1) != 1 || write(player->out, &ball, 1) != 1)
			exit(1);
	return NULL;
}

static cpu_set_t first_of(const cpu_set_t *all)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all)) {
			CPU_SET(cpu, &one);
			break;
		}
	return one;
}

/* Two threads on one CPU pass a byte back and forth: each pass is a switch. */
static double switches(long count)
{
	int there[2], back[2];
	pthread_t other;
	struct player first, second;
	double began;
	cpu_set_t all, one;

	if (pipe(there) || pipe(back))
		exit(1);
	first = (struct player){ back[0], there[1], count / 2 };
	second = (struct player){ there[0], back[1], count / 2 };
	sched_getaffinity(0, sizeof(all), &all);
	one = first_of(&all);
	sched_setaffinity(0, sizeof(one), &one);
	began = now_ns();
	pthread_create(&other, NULL, play, &second);
	if (write(back[1], "", 1) != 1)
		exit(1);
	play(&first);
	pthread_join(other, NULL);
	began = now_ns() - began;
	sched_setaffinity(0, sizeof(all), &all);
	close(there[0]), close(there[1]), close(back[0]), close(back[1]);
	return began;
}

static void ask(struct sockaddr_in *server, long count)
{
	int client = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	char question = 0;

	if (connect(client, (struct sockaddr *)server, sizeof(*server)))
		exit(1);
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (long i = 0; i < count; i++)
		if (write(client, &question, 1) != 1 || read(client, &question, 1) != 1)
			exit(1);
	_exit(0);
}

/* Another process sends requests over one connection, on the same CPU. */
static double requests(long count)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), server, on = 1;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	cpu_set_t all, one;
	char question;
	double began;
	pid_t client;

	if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&at, &size))
		exit(1);
	sched_getaffinity(0, sizeof(all), &all);
	one = first_of(&all);
	sched_setaffinity(0, sizeof(one), &one);
	client = fork();
	if (!client)
		ask(&at, count);
	server = accept(listener, NULL, NULL);
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	began = now_ns();
	for (long i = 0; i < count; i++)
		if (read(server, &question, 1) != 1 || write(server, &question, 1) != 1)
			exit(1);
	began = now_ns() - began;
	close(server), close(listener);
	waitpid(client, NULL, 0);
	sched_setaffinity(0, sizeof(all), &all);
	return began;
}

void Java_Events_work(void *jni, void *class)
{
	char what[16];
	long count;

	(void)jni, (void)class;
	while (scanf("%15s %ld", what, &count) == 2) {
		double took = !strcmp(what, "faults")	? faults(count) :
			      !strcmp(what, "calls")	? calls(count) :
			      !strcmp(what, "requests") ? requests(count) :
							  switches(count);
		printf("%.1f\n", took / count);
		fflush(stdout);
	}
}
