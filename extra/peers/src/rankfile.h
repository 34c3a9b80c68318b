/* Shared by the programs that protect a file of each rank: the file, the computing time, and the exit after an error. */
#ifndef RANKFILE_H
#define RANKFILE_H

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static double cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void write_file(const char *name, size_t bytes, unsigned seed)
{
	enum { BLOCK = 1 << 20 };
	unsigned *b = malloc(BLOCK);
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0666);
	if (!b || fd < 0) die(name);
	while (bytes > 0) {
		size_t n = bytes < BLOCK ? bytes : BLOCK;
		for (size_t i = 0; i < BLOCK / sizeof *b; i++) b[i] = seed = seed * 1664525u + 1013904223u;
		if (write(fd, b, n) != (ssize_t)n) die(name);
		bytes -= n;
	}
	close(fd);
	free(b);
}

#endif
