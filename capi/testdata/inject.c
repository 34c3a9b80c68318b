/* One rank panics inside the library, which was built with the tag inject. The other ranks must get an error. Arguments: an
 * empty directory, and the step, which the environment also names. */
#include "blobio_mpi.h"
#include "expect.h"

static int rank;
static const char *step;

/* Reports whether this call is the one that panics. */
static int here(const char *name, int rc) {
	if (strcmp(step, name)) {
		if (rc != BLOBIO_OK)
			FAIL("rank %d: %s: %d %s", rank, name, rc, blobio_last_error());
		return rc == BLOBIO_OK;
	}
	int want = rank == 1 ? BLOBIO_EINTERNAL : BLOBIO_EBROKEN;
	if (rc != want || blobio_last_error_code() != want)
		FAIL("rank %d: %s: %d, want %d: %s", rank, name, rc, want, blobio_last_error());
	SAYS("injected into");
	return 0;
}

static void all(const char *path) {
	blobio_file *f = NULL, *g;
	int x, d, v;
	if (!here("begin", blobio_create_mpi(MPI_COMM_WORLD, path, NULL, &f)))
		return;
	OK(blobio_def_dim(f, "x", 4, &x));
	int64_t off = 2 * rank, len = 2;
	OK(blobio_def_decomp(f, 1, &x, 1, &off, &len, &d));
	OK(blobio_def_var(f, "v", BLOBIO_DOUBLE, 1, &x, d, &v));
	double two[2] = {1, 2};
	if (!here("enddef", blobio_enddef(f))) {
		NOT(BLOBIO_EBROKEN, blobio_put_double(f, v, 0, two, 2));
		NOT(BLOBIO_EBROKEN, blobio_close(f));
		return;
	}
	OK(blobio_put_double(f, v, 0, two, 2));
	if (!here("put_att", blobio_put_att(f, v, "two", BLOBIO_DOUBLE, 2, two))) {
		if (blobio_close(f) == BLOBIO_OK)
			FAIL("close after a put_att that failed");
		return;
	}
	if (!here("flush", blobio_flush(f))) {
		if (blobio_close(f) == BLOBIO_OK)
			FAIL("close after a flush that failed");
		return;
	}
	if (!here("close", blobio_close(f)))
		return;
	if (!here("open", blobio_open_mpi(MPI_COMM_WORLD, path, NULL, &f)))
		return;
	OK(blobio_close(f));
	if (!here("append", blobio_append_mpi(MPI_COMM_WORLD, path, NULL, &g)))
		return;
	OK(blobio_def_decomp(g, 0, NULL, 1, &off, &len, &d));
	OK(blobio_close(g));
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	step = argv[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	char path[4096];
	snprintf(path, sizeof path, "%s/f", argv[1]);
	all(path);
	/* MPI must still work, and the library must be usable again. */
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return failures != 0;
}
