/* field: a small model's output and restart with the C library.
 *
 *   field BASE [options]           writes the dataset BASE (options as of blobio_create), reads it back by another
 *                                  decomposition, and ends with 0 if each value is right
 *
 * serial:  cc field.c -o field $(pkg-config --cflags --libs blobio)
 * MPI:     mpicc -DWITH_MPI field.c -o field_mpi $(pkg-config --cflags --libs blobio_mpi)
 *          mpirun -n 4 ./field_mpi /scratch/run1/F_h0.nc layout=process
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WITH_MPI
#include <blobio_mpi.h>
#else
#include <blobio.h>
#endif

enum { NLEV = 8, NCOL = 50, RECORDS = 3 };

static int rank = 0, ranks = 1;

/* Ends the program with the text of the last error. */
static void must(int rc, const char *what) {
	if (rc == BLOBIO_OK)
		return;
	fprintf(stderr, "rank %d: %s: %s\n", rank, what, blobio_last_error());
#ifdef WITH_MPI
	MPI_Abort(MPI_COMM_WORLD, 1);
#endif
	exit(1);
}
#define MUST(call) must(call, #call)

/* The model's value of an element: it identifies the element. */
static float cloud(int record, int lev, int col) { return (float)(record * 10000 + lev * 100 + col); }

static void write_dataset(const char *base, const char *options) {
	blobio_file *f;
#ifdef WITH_MPI
	MUST(blobio_create_mpi(MPI_COMM_WORLD, base, options, &f));
#else
	MUST(blobio_create(base, options, &f));
#endif

	int time, lev, ncol;
	MUST(blobio_def_dim(f, "time", BLOBIO_UNLIMITED, &time));
	MUST(blobio_def_dim(f, "lev", NLEV, &lev));
	MUST(blobio_def_dim(f, "ncol", NCOL, &ncol));

	/* This rank has columns rank, rank+ranks, ... on all levels. Each of its elements is a run of its own. In
	 * memory the columns of a level are adjacent. */
	int mine = (NCOL - rank + ranks - 1) / ranks, n = NLEV * mine;
	int64_t *offsets = malloc((n + 1) * sizeof *offsets), *lengths = malloc((n + 1) * sizeof *lengths);
	for (int l = 0; l < NLEV; l++)
		for (int c = 0; c < mine; c++) {
			offsets[l * mine + c] = (int64_t)l * NCOL + rank + c * ranks;
			lengths[l * mine + c] = 1;
		}
	int d3, dims3[] = {lev, ncol};
	MUST(blobio_def_decomp(f, 2, dims3, n, offsets, lengths, &d3));

	int vcloud, vlev, vtime, cdims[] = {time, lev, ncol};
	MUST(blobio_def_var(f, "time", BLOBIO_DOUBLE, 1, &time, BLOBIO_NO_DECOMP, &vtime));
	MUST(blobio_def_var(f, "lev", BLOBIO_DOUBLE, 1, &lev, BLOBIO_NO_DECOMP, &vlev));
	MUST(blobio_def_var(f, "CLOUD", BLOBIO_FLOAT, 3, cdims, d3, &vcloud));
	MUST(blobio_put_att_text(f, vtime, "units", -1, "days since 2000-01-01"));
	MUST(blobio_put_att_text(f, vcloud, "units", -1, "1"));
	MUST(blobio_put_att_text(f, BLOBIO_GLOBAL, "title", -1, "blobio example"));
	MUST(blobio_enddef(f));

	double levels[NLEV];
	for (int l = 0; l < NLEV; l++)
		levels[l] = 100.0 * (l + 1);
	MUST(blobio_put_double(f, vlev, 0, levels, NLEV));

	float *field = malloc((n + 1) * sizeof *field);
	for (int r = 0; r < RECORDS; r++) {
		double days = 0.5 * r;
		for (int k = 0; k < n; k++)
			field[k] = cloud(r, k / (mine ? mine : 1), rank + k % (mine ? mine : 1) * ranks);
		MUST(blobio_put_double(f, vtime, r, &days, 1));
		MUST(blobio_put_float(f, vcloud, r, field, n)); /* copied: field may change at once */
		MUST(blobio_flush(f));
	}
	MUST(blobio_close(f)); /* now the dataset is complete under its name */
	free(field);
	free(offsets);
	free(lengths);
}

/* Reads records by another decomposition, in which each rank has a block of adjacent columns. Returns the number
 * of wrong values. */
static int read_dataset(const char *base) {
	blobio_file *f;
#ifdef WITH_MPI
	MUST(blobio_open_mpi(MPI_COMM_WORLD, base, NULL, &f));
#else
	MUST(blobio_open(base, NULL, &f));
#endif
	int vcloud, wrong = 0;
	int64_t records;
	MUST(blobio_inq_varid(f, "CLOUD", &vcloud));
	MUST(blobio_inq(f, NULL, NULL, NULL, NULL, NULL, NULL, &records));
	wrong += records != RECORDS;

	int first = (int)((int64_t)NCOL * rank / ranks), mine = (int)((int64_t)NCOL * (rank + 1) / ranks) - first;
	int64_t offsets[NLEV], lengths[NLEV];
	for (int l = 0; l < NLEV; l++) {
		offsets[l] = (int64_t)l * NCOL + first;
		lengths[l] = mine;
	}
	float *field = malloc((NLEV * mine + 1) * sizeof *field);
	for (int r = 0; r < records; r++) {
		MUST(blobio_get_darray(f, vcloud, r, NLEV, offsets, lengths, BLOBIO_FLOAT, field, NLEV * mine));
		for (int k = 0; k < NLEV * mine; k++)
			wrong += field[k] != cloud(r, k / mine, first + k % mine);
	}
	free(field);
	MUST(blobio_close(f));
	return wrong;
}

int main(int argc, char **argv) {
	if (argc < 2) {
		fprintf(stderr, "usage: %s BASE [options]\n", argv[0]);
		return 2;
	}
#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
	write_dataset(argv[1], argc > 2 ? argv[2] : NULL);
	int wrong = read_dataset(argv[1]);
#ifdef WITH_MPI
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
#endif
	if (rank == 0)
		printf("%d ranks, %d wrong values\n", ranks, wrong);
	return wrong != 0;
}
