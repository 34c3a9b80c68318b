/* Measures a file of the same bytes without any library: each process writes its arrays, unchanged, one after the other into
 * a range of one file that is its own, many arrays to a call.
 * Hints: block=BYTES to a call (default 1 MiB); reserve=1: rank 0 reserves the space first; work=1: each block is what any writer of big-endian
 * files with checksums makes of it, in a buffer that stays in the cache: its bytes swapped, its CRC-32C taken. */
#define _GNU_SOURCE
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct {
	int fd, n;
	i64 at, held, block;
	char *work; /* of block bytes, or none */
	volatile uint64_t sum; /* volatile, so that the compiler keeps the sum */
	struct iovec v[256];
} Out;

#if defined __x86_64__
#define FAST __attribute__((target_clones("avx2", "default"), optimize("O3")))
#define CRC __attribute__((target("sse4.2")))
#define CRC8(s, w) __builtin_ia32_crc32di(s, w)
#define CRC1(s, c) __builtin_ia32_crc32qi((unsigned)(s), c)
#elif defined __aarch64__
#define FAST __attribute__((optimize("O3")))
#define CRC __attribute__((target("+crc")))
#define CRC8(s, w) __builtin_aarch64_crc32cx((unsigned)(s), w)
#define CRC1(s, c) __builtin_aarch64_crc32cb((unsigned)(s), c)
#endif

#ifdef CRC
#define SWAP(bits)                                 \
	for (size_t i = 0; i < n; i += bits / 8) { \
		uint##bits##_t x;                  \
		memcpy(&x, from + i, bits / 8);    \
		x = __builtin_bswap##bits(x);      \
		memcpy(to + i, &x, bits / 8);      \
	}

FAST static void swapped(char *restrict to, const char *restrict from, size_t n, i64 size)
{
	if (size == 2)
		SWAP(16)
	else if (size == 4)
		SWAP(32)
	else if (size == 8)
		SWAP(64)
	else
		memcpy(to, from, n);
}

/* Three streams keep the instruction busy. */
CRC static uint64_t summed(const char *b, size_t n)
{
	uint64_t s[3] = {0}, w[3];
	size_t third = n / 24 * 8;
	for (size_t i = 0; i < third; i += 8)
		for (size_t k = 0; k < 3; k++) {
			memcpy(&w[k], b + k * third + i, 8);
			s[k] = CRC8(s[k], w[k]);
		}
	for (size_t i = 3 * third; i < n; i++) s[0] = CRC1(s[0], (unsigned char)b[i]);
	return s[0] ^ s[1] ^ s[2];
}
#else
static void swapped(char *to, const char *from, size_t n, i64 size)
{
	die("raw_write.c:%d: work=1 is not for this processor", __LINE__);
}

static uint64_t summed(const char *b, size_t n) { return 0; }
#endif

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

static void add(Out *o, void *b, i64 n, i64 size)
{
	while (n > 0) {
		i64 k = n < o->block - o->held ? n : o->block - o->held;
		if (o->work) {
			k -= k % size;
			if (k == 0) {
				drain(o);
				continue;
			}
			char *w = o->work + o->held;
			swapped(w, b, (size_t)k, size);
			o->sum ^= summed(w, (size_t)k);
			if (o->n == 0) o->v[o->n++].iov_base = w;
			o->v[0].iov_len = (size_t)(o->held + k);
		} else {
			o->v[o->n++] = (struct iovec){b, (size_t)k};
		}
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
	if (o.block % 8) die("raw_write.c:%d: blocks of %lld bytes; want whole elements", __LINE__, o.block);
	if (hint(info, "work", 0)) o.work = get((size_t)o.block);
	if (job->rank == 0) {
		o.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
		if (o.fd >= 0 && hint(info, "reserve", 0) && posix_fallocate(o.fd, 0, all)) die("raw_write.c:%d: no room", __LINE__);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (job->rank != 0) o.fd = open(path, O_RDWR);
	if (o.fd < 0) die("raw_write.c:%d: %s: %s", __LINE__, path, strerror(errno));
	next_phase(job, P_OPEN);
	for (int k = 0; k < job->nmaps; k++) { /* offsets and lengths, 4 bytes each in a file */
		add(&o, job->maps[k].offsets, 4 * job->maps[k].nreqs, 4);
		add(&o, job->maps[k].lengths, 4 * job->maps[k].nreqs, 4);
	}
	for (int i = 0; i < job->nvars; i++)
		if (!job->vars[i].record) add(&o, job->vars[i].data[0], job->vars[i].count * size_of(job->vars[i].mem), size_of(job->vars[i].mem));
	for (i64 rec = 0; rec < job->records; rec++)
		for (int i = 0; i < job->nvars; i++)
			if (job->vars[i].record) add(&o, job->vars[i].data[rec], job->vars[i].count * size_of(job->vars[i].mem), size_of(job->vars[i].mem));
	drain(&o);
	if (job->sync && fsync(o.fd)) die("raw_write.c:%d: %s", __LINE__, strerror(errno));
	next_phase(job, P_FLUSH);
	if (close(o.fd)) die("raw_write.c:%d: %s", __LINE__, strerror(errno));
	MPI_Barrier(MPI_COMM_WORLD);
	next_phase(job, P_CLOSE);
}

int main(int argc, char **argv) { return peer_main(argc, argv, "pwritev", run); }
