//go:build mpi && cgo

#define _GNU_SOURCE
#include "glue.h"
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

typedef _Atomic uint32_t word;

static uint32_t get(void *w) { return atomic_load((word *)w); }
static int past(void *w, uint32_t round) { return w && (int32_t)(get(w) - round) > 0; }

int node_cores(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

void bell_wake(void *bell) {
	atomic_fetch_add((word *)bell, 1);
#ifdef __linux__
	syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
#endif
}

int node_wait(void *bell, void *at, uint32_t round, int yields, void *pokes, uint32_t poked, void *broken, uint32_t known, int64_t ns) {
	for (; yields > 0; yields--) {
		if (past(at, round)) return DONE;
		sched_yield();
	}
	if (past(at, round)) return DONE;
	if (ns <= 0) return PENDING;
	word *asleep = (word *)bell + 1;
	uint32_t seq = get(bell);
	atomic_store(asleep, 1);
	// A process that changes one of these words reads asleep afterwards, so no wake-up is missed.
	if (!past(at, round) && get(pokes) == poked && get(broken) == known) {
#ifdef __linux__
		struct { long s, ns; } t = {ns / 1000000000, ns % 1000000000}; // the kernel's layout, which does not depend on time_t
		syscall(SYS_futex, bell, FUTEX_WAIT, seq, &t, NULL, 0);
#else
		struct timespec t = {ns / 1000000000, ns % 1000000000};
		nanosleep(&t, NULL);
#endif
	}
	atomic_store(asleep, 0);
	return past(at, round) ? DONE : PENDING;
}
