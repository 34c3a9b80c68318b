/* One rank passes an invalid address to the functions that open a dataset. All ranks must get an error, without a hang.
 * Argument: an empty directory. */
#include "blobio_mpi.h"
#include "expect.h"

#include <unistd.h>

int main(int argc, char **argv) {
	if (argc != 2)
		return 2;
	alarm(60); /* a hanging rank ends the job */
	MPI_Init(&argc, &argv);
	int rank, ranks;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int bad = rank == ranks - 1;
	char *nowhere = (char *)0x10000, path[4096];
	snprintf(path, sizeof path, "%s/a", argv[1]);
	blobio_file *f = NULL;
	int (*begin[])(MPI_Comm, const char *, const char *, blobio_file **) = {blobio_create_mpi, blobio_append_mpi, blobio_open_mpi};
	for (int k = 0; k < 3; k++) {
		for (int which = 0; which < 3; which++) {
			int rc = begin[k](MPI_COMM_WORLD, bad && which == 0 ? nowhere : path, bad && which == 1 ? nowhere : NULL,
			                  bad && which == 2 ? (blobio_file **)nowhere : &f);
			if (rc == BLOBIO_OK || (bad && rc != BLOBIO_EFAULT))
				FAIL("function %d, argument %d: %d %s", k, which, rc, blobio_last_error());
			else
				SAYS("bad address");
		}
	}
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return failures != 0;
}
