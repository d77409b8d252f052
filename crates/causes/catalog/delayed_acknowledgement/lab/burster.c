/* Each PERIOD_MS it makes so many connections at once to a port, says nothing, and closes them half a period later. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1000 };

static int connecting(const struct sockaddr_in *service)
{
	int stream = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (stream < 0 || (connect(stream, (const struct sockaddr *)service, sizeof(*service)) && errno != EINPROGRESS)) {
		perror("connect");
		exit(1);
	}
	return stream;
}

int main(int count, char **arguments)
{
	struct sockaddr_in service = { .sin_family = AF_INET };
	int streams[MOST], number, period_ms;

	if (count != 4 || (number = atoi(arguments[2])) < 1 || number > MOST || (period_ms = atoi(arguments[3])) < 2) {
		fprintf(stderr, "usage: burster PORT CONNECTIONS PERIOD_MS\n");
		return 2;
	}
	service.sin_port = htons(atoi(arguments[1]));
	service.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (;;) {
		for (int i = 0; i < number; i++)
			streams[i] = connecting(&service);
		usleep(period_ms * 500);
		for (int i = 0; i < number; i++)
			close(streams[i]);
		usleep(period_ms * 500);
	}
	return 0;
}
