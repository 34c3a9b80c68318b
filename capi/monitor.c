//go:build cgo && linux

// While Go code runs, a thread of the Go runtime wakes up about every 70 us. If the ranks of an MPI program fill all cores, each
// wake-up interrupts a rank, and on a virtual machine also leaves the machine several times. The kernel may delay a wake-up by the
// timer slack (default 50 us), which threads inherit from the thread that creates them. Therefore the slack is larger while the
// runtime starts its first thread. Waits of the runtime's threads, for example in time.Sleep, become less exact by the same time.

#include <sys/prctl.h>

static const unsigned long SLACK = 1000000; // in ns

static int before = -1; // slack of the program's thread in ns; -1: unknown

// Go's initializer has no priority. Initializers with a priority run before it, and the others in the order of the linker, which
// takes Go's object file first. The C library reads all five arguments of prctl.
__attribute__((constructor(101))) static void begin(void) {
	before = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
	if (before > 0 && (unsigned long)before < SLACK)
		prctl(PR_SET_TIMERSLACK, SLACK, 0UL, 0UL, 0UL);
}

__attribute__((constructor)) static void end(void) {
	if (before > 0 && (unsigned long)before < SLACK)
		prctl(PR_SET_TIMERSLACK, (unsigned long)before, 0UL, 0UL, 0UL);
}

void blobio_monitor(void) {} // see monitor_linux.go
