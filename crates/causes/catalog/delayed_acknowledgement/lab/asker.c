/*
 * Clients of a service, each on a kept connection of its own: told by a datagram how many bytes to ask for, each asks, reads
 * the whole answer and says so. When told to, they lose a part of the segments that come (a filter on the socket drops them
 * before TCP sees them) or read slowly. A client that is told nothing for IDLE_MS asks by itself: the kernel acknowledges late only
 * on connections that are in use all the time. With "anew" each question has a connection of its own.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOSE = 1, READ_SLOWLY = 2 };
enum { BUFFER = 16384, SMALL_WINDOW = 16384 };

/* Segments with no more than this have no data: the header of TCP with its options. */
enum { HEADER = 60 };

struct order {
	uint32_t bytes;
	uint32_t how;
};

static int port, lost_per_mille, pause_ms, idle_ms, anew;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in at(int number)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(number) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static void sleep_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* The filter: of segments with data so many in a thousand are dropped, at random. */
static void lose(int stream)
{
	uint32_t lost = (uint32_t)(UINT32_MAX / 1000.0 * lost_per_mille);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, HEADER, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, lost, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (setsockopt(stream, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		fail("SO_ATTACH_FILTER");
}

static int connected(void)
{
	struct sockaddr_in service = at(port);
	int stream, one = 1, window = SMALL_WINDOW;

	for (;;) {
		stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (stream < 0)
			fail("socket");
		setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (pause_ms)
			setsockopt(stream, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
		if (!connect(stream, (struct sockaddr *)&service, sizeof(service)))
			return stream;
		if (errno != ECONNREFUSED)
			fail("connect");
		close(stream);
		sleep_ms(50);
	}
}

static void ask(int stream, const struct order *order)
{
	static __thread char buffer[BUFFER];
	size_t left = ntohl(order->bytes);

	if (send(stream, &order->bytes, sizeof(order->bytes), MSG_NOSIGNAL) < 0)
		fail("send");
	while (left) {
		ssize_t count = recv(stream, buffer, left < BUFFER ? left : BUFFER, 0);

		if (count <= 0)
			fail("recv");
		left -= count;
		if (left && ntohl(order->how) & READ_SLOWLY)
			sleep_ms(pause_ms);
	}
}

/* Waits for an order; meanwhile it asks as it was told last. */
static void wait_for_order(int orders, int stream, const struct order *last)
{
	struct pollfd order = { .fd = orders, .events = POLLIN };

	while (stream >= 0 && idle_ms && !poll(&order, 1, idle_ms))
		ask(stream, last);
}

static void *serve_orders(void *number)
{
	struct sockaddr_in own = at(port + 1 + (int)(size_t)number), from;
	int orders = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), stream = -1, loses = 0;
	struct order order;

	if (orders < 0 || bind(orders, (struct sockaddr *)&own, sizeof(own)))
		fail("bind");
	for (;;) {
		socklen_t length = sizeof(from);
		int how;

		wait_for_order(orders, stream, &order);
		if (recvfrom(orders, &order, sizeof(order), 0, (struct sockaddr *)&from, &length) < 0)
			fail("recvfrom");
		how = ntohl(order.how);
		if (stream < 0)
			stream = connected();
		if (how & LOSE && !loses) {
			lose(stream);
			loses = 1;
		}
		ask(stream, &order);
		if (anew) {
			close(stream);
			stream = -1;
		}
		if (sendto(orders, &order, sizeof(order), 0, (struct sockaddr *)&from, length) < 0)
			fail("sendto");
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	long clients;

	if (count != 6 && count != 7) {
		fprintf(stderr, "usage: asker PORT CLIENTS LOST_PER_MILLE PAUSE_MS IDLE_MS [anew]\n");
		return 2;
	}
	port = atoi(arguments[1]);
	clients = atol(arguments[2]);
	lost_per_mille = atoi(arguments[3]);
	pause_ms = atoi(arguments[4]);
	idle_ms = atoi(arguments[5]);
	anew = count == 7 && !strcmp(arguments[6], "anew");
	for (long i = 1; i < clients; i++) {
		if (pthread_create(&thread, NULL, serve_orders, (void *)i))
			return 1;
	}
	serve_orders(NULL);
	return 0;
}
