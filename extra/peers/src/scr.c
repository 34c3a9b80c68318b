/* Takes two checkpoints of a file of each rank with SCR and prints the time that the second waits in SCR_Complete_output.
 * Each rank counts as a node: it sees a name and a cache of its own, by a mount that only it has (as root).
 *
 * usage: scr SCHEME DIR BYTES FAILURES CRC */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mount.h>
#include <sys/utsname.h>

#include "rankfile.h"

#include <scr.h>

static int rank = -1; /* once set, each rank has its own host name */

int gethostname(char *name, size_t len)
{
	struct utsname u;
	uname(&u);
	if (rank < 0) return snprintf(name, len, "%s", u.nodename) < 0;
	return snprintf(name, len, "node%d", rank) < 0;
}

int main(int argc, char **argv)
{
	int me;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	if (argc != 6) die("usage: scr SCHEME DIR BYTES FAILURES CRC");
	char own[4096], cache[4096], prefix[4096];
	snprintf(own, sizeof own, "%s/node%d", argv[2], me);
	snprintf(cache, sizeof cache, "%s/local", argv[2]);
	snprintf(prefix, sizeof prefix, "%s/prefix", argv[2]);
	mkdir(argv[2], 0777);
	mkdir(cache, 0777);
	mkdir(prefix, 0777);
	if (mkdir(own, 0777) != 0) die(own);
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount(own, cache, NULL, MS_BIND, NULL) != 0) die("mount");
	const char *set[][2] = {{"SCR_PREFIX", prefix}, {"SCR_CNTL_BASE", cache}, {"SCR_CACHE_BASE", cache}, {"SCR_CACHE_BYPASS", "0"}, {"SCR_CACHE_SIZE", "1"},
		{"SCR_COPY_TYPE", argv[1]}, {"SCR_SET_FAILURES", argv[4]}, {"SCR_CRC_ON_COPY", argv[5]}, {"SCR_FLUSH", "0"},
		{"SCR_JOB_ID", "1"}, {"SCR_USER_NAME", "bench"}};
	for (size_t i = 0; i < sizeof set / sizeof *set; i++) setenv(set[i][0], set[i][1], 1);
	rank = me;
	MPI_Barrier(MPI_COMM_WORLD);
	if (SCR_Init() != SCR_SUCCESS) die("SCR_Init");

	double took = 0, used = 0, cpus;
	for (int i = 0; i < 2; i++) {
		char name[32], file[4200], path[SCR_MAX_FILENAME];
		snprintf(name, sizeof name, "ckpt.%d", i);
		snprintf(file, sizeof file, "%s/%s/rank%d", prefix, name, rank);
		if (SCR_Start_output(name, SCR_FLAG_CHECKPOINT) != SCR_SUCCESS) die("SCR_Start_output");
		if (SCR_Route_file(file, path) != SCR_SUCCESS) die("SCR_Route_file");
		write_file(path, (size_t)atoll(argv[3]), (unsigned)rank + 1);
		MPI_Barrier(MPI_COMM_WORLD);
		took = MPI_Wtime();
		used = cpu();
		if (SCR_Complete_output(1) != SCR_SUCCESS) die("SCR_Complete_output");
		MPI_Barrier(MPI_COMM_WORLD);
		took = MPI_Wtime() - took;
		used = cpu() - used;
	}
	MPI_Reduce(&used, &cpus, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0) printf("{\"library\": \"SCR %s\", \"seconds\": %.6f, \"cpu_seconds\": %.3f}\n", SCR_VERSION, took, cpus);
	MPI_Finalize(); /* SCR_Finalize would flush */
	return 0;
}
