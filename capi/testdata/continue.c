/* Programs with different numbers of ranks write a history one after the other, and this is one of them. Arguments: the dataset,
 * the options, the number of records that the dataset has at the end, and how to end: "close" or "die", which ends without close
 * after the last commit. */
#include "blobio_mpi.h"
#include "expect.h"

#include <unistd.h>

enum { N = 41 };

int main(int argc, char **argv) {
	int rank, ranks, v, tv, there = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 5)
		FAIL("%d arguments", argc - 1);
	const char *path = argv[1], *options = argv[2];
	int64_t until = atoll(argv[3]), records = 0;
	blobio_file *f = NULL;
	if (rank == 0 && blobio_open(path, NULL, &f) == BLOBIO_OK) {
		there = 1;
		OK(blobio_close(f));
	}
	MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
	int64_t dof[N], n = 0;
	for (int64_t i = rank; i < N; i += ranks)
		dof[n++] = N - i; /* descending, from 1 */
	int dims[2] = {0, 0}, d;
	if (there) {
		OK(blobio_append_mpi(MPI_COMM_WORLD, path, options, &f));
		OK(blobio_def_decomp_pio(f, 0, NULL, n, dof, &d));
	} else {
		OK(blobio_create_mpi(MPI_COMM_WORLD, path, options, &f));
		OK(blobio_def_dim(f, "time", BLOBIO_UNLIMITED, &dims[0]));
		OK(blobio_def_dim(f, "x", N, &dims[1]));
		OK(blobio_def_decomp_pio(f, 1, &dims[1], n, dof, &d));
		OK(blobio_def_var(f, "v", BLOBIO_INT, 2, dims, d, &v));
		OK(blobio_def_var(f, "time", BLOBIO_DOUBLE, 1, dims, 0, &tv));
	}
	OK(blobio_enddef(f));
	OK(blobio_inq_varid(f, "v", &v));
	OK(blobio_inq_varid(f, "time", &tv));
	OK(blobio_inq(f, NULL, NULL, NULL, NULL, NULL, NULL, &records));
	OK(blobio_put_att_text(f, v, "until", -1, argv[3]));
	if (ranks > 1) { /* if one rank has an error, all ranks get it, and no file is left */
		NOT(BLOBIO_EINVAL, blobio_put_att_text(f, v, rank == 1 ? "" : "wrong", -1, "no"));
		NOT(BLOBIO_EINVAL, blobio_put_att_text(f, v, "wrong", -1, rank == 1 ? "no" : "yes"));
	}
	for (int64_t rec = records; rec < until; rec++) {
		int32_t x[N];
		double t = (double)rec;
		for (int64_t k = 0; k < n; k++)
			x[k] = (int32_t)(100 * rec + dof[k] - 1);
		OK(blobio_put_int32(f, v, rec, x, n));
		OK(blobio_put_double(f, tv, rec, &t, 1));
		OK(blobio_commit(f));
	}
	if (!strcmp(argv[4], "die")) { /* ends without close, like a killed program */
		MPI_Barrier(MPI_COMM_WORLD);
		fflush(NULL);
		_exit(failures != 0);
	}
	OK(blobio_close(f));
	MPI_Finalize();
	return failures != 0;
}
