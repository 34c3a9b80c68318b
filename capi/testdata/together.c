/* The APIs of SCR, FTI and blobio in one program. Arguments: a configuration of FTI and a directory. The first run keeps its
 * state in a dataset, an SCR checkpoint and an FTI checkpoint, and dies. The second run finds its state in each of the three. */
#include "blobio_mpi.h"
#include "expect.h"
#include "fti.h"
#include "scr.h"

#include <signal.h>

enum { N = 1000 };

static int rank, ranks;
static const char *dir;
static int32_t state[N];

static int good(const int32_t *p) {
	int i = 0;
	while (i < N && p[i] == 1000 * rank + i)
		i++;
	return i == N;
}

/* The file of this rank in SCR's checkpoint. */
static FILE *routed(const char *mode) {
	char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME] = "";
	snprintf(name, sizeof name, "%s/rank%d", dir, rank);
	EQ(SCR_Route_file(name, file), SCR_SUCCESS);
	FILE *f = fopen(file, mode);
	if (!f)
		FAIL("%s", file), exit(1);
	return f;
}

static blobio_file *begin(const char *path, int *v) {
	blobio_file *f;
	int t, x, d;
	OK(blobio_create_mpi(FTI_COMM_WORLD, path, NULL, &f));
	OK(blobio_def_dim(f, "t", BLOBIO_UNLIMITED, &t));
	OK(blobio_def_dim(f, "x", (int64_t)N * ranks, &x));
	int64_t dof[N];
	for (int i = 0; i < N; i++)
		dof[i] = (int64_t)rank * N + i + 1;
	OK(blobio_def_decomp_pio(f, 1, &x, N, dof, &d));
	OK(blobio_def_var(f, "v", BLOBIO_INT, 2, (int[]){t, x}, d, v));
	OK(blobio_enddef(f));
	OK(blobio_put_int32(f, *v, 0, state, N));
	return f;
}

static void keep(const char *path) {
	int v;
	for (int i = 0; i < N; i++)
		state[i] = 1000 * rank + i;
	blobio_file *f = begin(path, &v);
	EQ(SCR_Start_output("step1", SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
	EQ(FTI_Checkpoint(1, FTI_L4), FTI_DONE); /* during SCR's checkpoint */
	OK(blobio_close(f));
	FILE *out = routed("wb");
	EQ((int)fwrite(state, sizeof *state, N, out), N);
	fclose(out);
	EQ(SCR_Complete_output(1), SCR_SUCCESS);
}

static void find(const char *path) {
	char name[SCR_MAX_FILENAME];
	static int32_t got[N];
	int64_t off = (int64_t)rank * N, len = N;
	int have = 0, v;
	EQ(FTI_Recover(), FTI_SCES);
	EQ(good(state), 1);
	EQ(SCR_Have_restart(&have, name), SCR_SUCCESS);
	EQ(have, 1);
	EQ(SCR_Start_restart(name), SCR_SUCCESS);
	FILE *in = routed("rb");
	EQ((int)fread(got, sizeof *got, N, in), N);
	fclose(in);
	EQ(good(got), 1);
	EQ(SCR_Complete_restart(1), SCR_SUCCESS);
	blobio_file *f;
	OK(blobio_open_mpi(FTI_COMM_WORLD, path, "collective=yes", &f));
	OK(blobio_inq_varid(f, "v", &v));
	memset(got, 0, sizeof got);
	OK(blobio_get_darray_all(f, v, 0, 1, &off, &len, BLOBIO_INT, got, len));
	EQ(good(got), 1);
	OK(blobio_close(f));
}

int main(int argc, char **argv) {
	char path[SCR_MAX_FILENAME];
	if (argc < 3)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	dir = argv[2];
	snprintf(path, sizeof path, "%s/data.nc", dir);
	SCR_Configf("SCR_PREFIX=%s", dir);
	EQ(SCR_Init(), SCR_SUCCESS);
	EQ(FTI_Init(argv[1], MPI_COMM_WORLD), FTI_SCES);
	EQ(FTI_Protect(1, state, N, FTI_INTG), FTI_SCES);
	if (!FTI_Status()) {
		keep(path);
		MPI_Barrier(MPI_COMM_WORLD);
		raise(SIGKILL);
	}
	find(path);
	EQ(FTI_Finalize(), FTI_SCES);
	EQ(SCR_Finalize(), SCR_SUCCESS);
	if (rank == 0 && !failures)
		puts("found");
	MPI_Finalize();
	return failures > 0;
}
