/* What a file of the same bytes costs without any library: each process writes its arrays, as they lie in memory, one after the other into
 * a range of one file that is its own, many arrays to a call.
 * Hints: block=BYTES to a call (default 1 MiB); reserve=1: rank 0 reserves the space first. */
#define _GNU_SOURCE
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct {
	int fd, n;
	i64 at, held, block;
	struct iovec v[256];
} Out;

static void drain(Out *o)
{
	struct iovec *v = o->v;
	while (o->n > 0) {
		ssize_t k = pwritev(o->fd, v, o->n, o->at);
		if (k < 0) die("raw_write.c:%d: %s", __LINE__, strerror(errno));
		o->at += k;
		while (o->n > 0 && (size_t)k >= v->iov_len) {
			k -= (ssize_t)v->iov_len;
			v++;
			o->n--;
		}
		if (o->n > 0) {
			v->iov_base = (char *)v->iov_base + k;
			v->iov_len -= (size_t)k;
		}
	}
	o->held = 0;
}

static void add(Out *o, void *b, i64 n)
{
	while (n > 0) {
		i64 k = n < o->block - o->held ? n : o->block - o->held;
		o->v[o->n++] = (struct iovec){b, (size_t)k};
		o->held += k;
		b = (char *)b + k;
		n -= k;
		if (o->held == o->block || o->n == 256) drain(o);
	}
}

static i64 hint(MPI_Info info, const char *name, i64 otherwise)
{
	char value[32];
	int there;
	MPI_Info_get(info, name, sizeof value - 1, value, &there);
	return there ? atoll(value) : otherwise;
}

static void run(Job *job, const char *path, MPI_Info info)
{
	i64 bytes = 0, start = 0, all;
	for (int k = 0; k < job->nmaps; k++) bytes += 8 * job->maps[k].nreqs;
	for (int i = 0; i < job->nvars; i++) bytes += job->vars[i].records * job->vars[i].count * size_of(job->vars[i].mem);
	MPI_Exscan(&bytes, &start, 1, MPI_LONG_LONG_INT, MPI_SUM, MPI_COMM_WORLD);
	if (job->rank == 0) start = 0;
	MPI_Allreduce(&bytes, &all, 1, MPI_LONG_LONG_INT, MPI_SUM, MPI_COMM_WORLD);
	Out o = {.at = start, .block = hint(info, "block", 1 << 20)};
	if (job->rank == 0) {
		o.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
		if (o.fd >= 0 && hint(info, "reserve", 0) && posix_fallocate(o.fd, 0, all)) die("raw_write.c:%d: no room", __LINE__);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (job->rank != 0) o.fd = open(path, O_RDWR);
	if (o.fd < 0) die("raw_write.c:%d: %s: %s", __LINE__, path, strerror(errno));
	next_phase(job, P_OPEN);
	for (int k = 0; k < job->nmaps; k++) { /* offsets and lengths, 4 bytes each in a file */
		add(&o, job->maps[k].offsets, 4 * job->maps[k].nreqs);
		add(&o, job->maps[k].lengths, 4 * job->maps[k].nreqs);
	}
	for (int i = 0; i < job->nvars; i++)
		if (!job->vars[i].record) add(&o, job->vars[i].data[0], job->vars[i].count * size_of(job->vars[i].mem));
	for (i64 rec = 0; rec < job->records; rec++)
		for (int i = 0; i < job->nvars; i++)
			if (job->vars[i].record) add(&o, job->vars[i].data[rec], job->vars[i].count * size_of(job->vars[i].mem));
	drain(&o);
	if (job->sync && fsync(o.fd)) die("raw_write.c:%d: %s", __LINE__, strerror(errno));
	next_phase(job, P_FLUSH);
	if (close(o.fd)) die("raw_write.c:%d: %s", __LINE__, strerror(errno));
	MPI_Barrier(MPI_COMM_WORLD);
	next_phase(job, P_CLOSE);
}

int main(int argc, char **argv) { return peer_main(argc, argv, "pwritev", run); }
