/*
 * Writes to a file and waits until it is on disk, again and again, like a database or a log shipper. So the file system's
 * journal is committed continuously.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 65536, BLOCKS = 64 };

int main(int count, char **arguments)
{
	static char buffer[BLOCK];
	int file;

	if (count != 2) {
		fprintf(stderr, "usage: neighbour FILE\n");
		return 2;
	}
	memset(buffer, 'x', sizeof(buffer));
	file = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; file >= 0; i++) {
		if (i % BLOCKS == 0 && (ftruncate(file, 0) || lseek(file, 0, SEEK_SET)))
			break;
		if (write(file, buffer, BLOCK) < 0 || syncfs(file))
			break;
	}
	perror(arguments[1]);
	return 1;
}
