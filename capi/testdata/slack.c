// Prints the timer slack of the program's thread, and of each of the other threads, in ns.
#include "blobio.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
	blobio_version(); // links the library
	usleep(200000);   // its threads start
	printf("own %d\n", prctl(PR_GET_TIMERSLACK));
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d));) {
		char name[64], slack[32];
		int tid = atoi(e->d_name);
		if (tid == 0 || tid == getpid())
			continue;
		snprintf(name, sizeof name, "/proc/%d/timerslack_ns", tid);
		FILE *f = fopen(name, "r");
		if (f && fgets(slack, sizeof slack, f))
			printf("other %s", slack);
		if (f)
			fclose(f);
	}
	return 0;
}
