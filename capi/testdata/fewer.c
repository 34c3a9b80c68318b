// fewer DIR NODES DIE LAST: the ranks, two on each node in NODES ("0,2,3"), continue a computation up to step LAST. Each step ends
// with a checkpoint in the caches of the nodes: a blob dataset per node, with the rows of its ranks. In step DIE all ranks are
// killed. Rank 0 writes the rows of the last step to DIR/result.
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blobio_mpi.h"
#include "expect.h"
#include "scr.h"

#define GOOD(call)                                                                                                     \
	do {                                                                                                               \
		if ((call) != SCR_SUCCESS)                                                                                     \
			FAIL("rank %d: %s: %s", rank, #call, blobio_last_error());                                                 \
	} while (0)

enum { ROWS = 48, COLS = 100, N = ROWS * COLS };

static int rank, ranks;
static double u[N]; // each rank has all rows, and computes its own rows
static MPI_Comm node;

// Returns the path of a file of the dataset that a node has written or will write.
static char *path(int step, int first, const char *suffix) {
	static char name[SCR_MAX_FILENAME];
	snprintf(name, sizeof name, "step%d/rows%d.nc%s", step, first, suffix);
	return name;
}

// Turns the path of a subfile into the path of its dataset.
static void cut(char *file) {
	char *dot = strrchr(file, '.');
	if (dot)
		*dot = 0;
}

static void checkpoint(int step) {
	char name[64], file[SCR_MAX_FILENAME] = "";
	int r, per = ROWS / ranks, first = rank / 2 * 2 * per;
	snprintf(name, sizeof name, "step%d", step);
	GOOD(SCR_Start_output(name, SCR_FLAG_CHECKPOINT));
	MPI_Comm_rank(node, &r);
	if (r == 0) { // adds both files of the node's dataset
		GOOD(SCR_Route_file(path(step, first, ".manifest"), file));
		GOOD(SCR_Route_file(path(step, first, ".0000"), file));
		cut(file);
	}
	MPI_Bcast(file, sizeof file, MPI_CHAR, 0, node);
	blobio_file *f = NULL;
	int dims[2], decomp, v;
	int64_t offset = (int64_t)(rank * per - first) * COLS, length = (int64_t)per * COLS;
	OK(blobio_create_mpi(node, file, NULL, &f));
	OK(blobio_def_dim(f, "row", 2 * per, &dims[0]));
	OK(blobio_def_dim(f, "column", COLS, &dims[1]));
	OK(blobio_def_decomp(f, 2, dims, 1, &offset, &length, &decomp));
	OK(blobio_def_var(f, "u", BLOBIO_DOUBLE, 2, dims, decomp, &v));
	OK(blobio_enddef(f));
	OK(blobio_put_double(f, v, 0, u + rank * per * COLS, length));
	OK(blobio_close(f));
	GOOD(SCR_Complete_output(failures == 0));
}

// Returns the step of the checkpoint from which the run continues, or 0.
static int restart(void) {
	char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME] = "";
	int have = 0, step = 0;
	GOOD(SCR_Have_restart(&have, name));
	if (!have)
		return 0;
	GOOD(SCR_Start_restart(NULL));
	sscanf(name, "step%d", &step);
	int64_t rows = 0;
	for (int first = 0; first < ROWS && !failures; first += rows) {
		blobio_file *f = NULL;
		int v;
		GOOD(SCR_Route_file(path(step, first, ".0000"), file));
		cut(file);
		OK(blobio_open(file, NULL, &f));
		OK(blobio_inq_varid(f, "u", &v));
		OK(blobio_inq_dim(f, 0, NULL, 0, &rows));
		OK(blobio_get_vara(f, v, NULL, NULL, BLOBIO_DOUBLE, u + first * COLS, rows * COLS));
		OK(blobio_close(f));
	}
	GOOD(SCR_Complete_restart(failures == 0));
	return step;
}

static void compute(void) {
	static double next[N];
	int per = N / ranks;
	for (int i = rank * per; i < (rank + 1) * per; i++)
		next[i] = u[i] + 0.2 * (u[(i + 1) % N] + u[(i + N - 1) % N] + u[(i + COLS) % N] + u[(i + N - COLS) % N] - 4 * u[i]);
	MPI_Allgather(next + rank * per, per, MPI_DOUBLE, u, per, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	char *dir = argv[1], nodes[] = "0,0,0,0", prefix[512], name[16], home[600];
	strncpy(nodes, argv[2], sizeof nodes - 1);
	int die = atoi(argv[3]), last = atoi(argv[4]);
	snprintf(prefix, sizeof prefix, "%s/prefix", dir);
	snprintf(name, sizeof name, "node%c", nodes[rank / 2 * 2]);
	snprintf(home, sizeof home, "%s/%s", dir, name);
	mkdir(prefix, 0700);
	mkdir(home, 0700);
	setenv("BLOBIO_NODE", name, 1);
	setenv("BLOBIO_NODE_DIR", home, 1);
	if (chdir(prefix))
		FAIL("no directory %s", prefix);
	SCR_Configf("SCR_PREFIX=%s", prefix);
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &node);
	MPI_Barrier(MPI_COMM_WORLD);
	GOOD(SCR_Init());
	for (int i = 0; i < N; i++)
		u[i] = i * i % 1009;
	int step = restart();
	if (rank == 0)
		printf("from step %d\n", step);
	fflush(stdout);
	while (step++ < last && !failures) {
		compute();
		if (step == die) {
			MPI_Barrier(MPI_COMM_WORLD);
			raise(SIGKILL);
		}
		checkpoint(step);
	}
	GOOD(SCR_Finalize());
	snprintf(home, sizeof home, "%s/result", dir);
	FILE *f = rank == 0 ? fopen(home, "wb") : NULL;
	if (rank == 0 && (!f || fwrite(u, sizeof u, 1, f) != 1 || fclose(f)))
		FAIL("cannot write %s", home);
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return failures != 0;
}
