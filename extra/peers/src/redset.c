/* Protects a file of each rank by redset, or rebuilds the lost files of a rank. Each rank counts as a node.
 *
 * usage: redset encode|rebuild SCHEME DIR BYTES */

#include "rankfile.h"

#define REDSET_ENABLE_MPI
#include <redset.h>

/* The files of a lost rank: its own and the redundancy. */
static void lose(const char *dir)
{
	char command[4200];
	snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", dir, dir);
	if (system(command) != 0) die(dir);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 5) die("usage: redset encode|rebuild SCHEME DIR BYTES");
	const char *scheme = argv[2];
	char dir[4096], file[4110], prefix[4110], group[32];
	snprintf(dir, sizeof dir, "%s/%d", argv[3], rank);
	snprintf(file, sizeof file, "%s/data", dir);
	snprintf(prefix, sizeof prefix, "%s/rs.", dir);
	snprintf(group, sizeof group, "node%d", rank);
	mkdir(argv[3], 0777);
	if (mkdir(dir, 0777) != 0) die(dir);
	write_file(file, (size_t)atoll(argv[4]), (unsigned)rank + 1);

	redset set;
	const char *files[] = {file};
	int failures = ranks / 2 < 1 ? 1 : ranks / 2 > 2 ? 2 : ranks / 2, made;
	if (redset_init() != REDSET_SUCCESS) die("redset_init");
	if (!strcmp(scheme, "SINGLE"))
		made = redset_create_single(MPI_COMM_WORLD, group, &set);
	else if (!strcmp(scheme, "PARTNER"))
		made = redset_create_partner(MPI_COMM_WORLD, group, 8, 1, &set);
	else if (!strcmp(scheme, "XOR"))
		made = redset_create_xor(MPI_COMM_WORLD, group, 8, &set);
	else
		made = redset_create_rs(MPI_COMM_WORLD, group, 8, failures, &set);
	if (made != REDSET_SUCCESS) die("redset_create");

	MPI_Barrier(MPI_COMM_WORLD);
	double start = MPI_Wtime(), used = cpu();
	if (redset_apply(1, files, prefix, set) != REDSET_SUCCESS) die("redset_apply");
	if (!strcmp(argv[1], "rebuild")) {
		redset_delete(&set);
		if (rank == 1) lose(dir);
		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		used = cpu();
		if (redset_recover(MPI_COMM_WORLD, prefix, &set) != REDSET_SUCCESS) die("redset_recover");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	double took = MPI_Wtime() - start, cpus;
	used = cpu() - used;
	MPI_Reduce(&used, &cpus, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0) printf("{\"library\": \"redset %s\", \"seconds\": %.6f, \"cpu_seconds\": %.3f}\n", REDSET_VERSION, took, cpus);
	redset_delete(&set);
	redset_finalize();
	MPI_Finalize();
	return 0;
}
