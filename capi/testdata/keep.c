/* Uses stores of checkpoints and versioned arrays, in one process or in the ranks of a job. Arguments: a directory, and "again"
 * in a later program. */
#ifdef WITH_MPI
#include "blobio_mpi.h"
#endif
#include "expect.h"

#include <unistd.h>

enum { N = 5000 };

static int rank, ranks = 1;

static int open_store(const char *dir, const char *options, blobio_store **s) {
#ifdef WITH_MPI
	return blobio_store_open_mpi(MPI_COMM_WORLD, dir, options, s);
#else
	return blobio_store_open(dir, options, s);
#endif
}

static int create_array(const char *dir, const int64_t *shape, const char *options, blobio_array **a) {
#ifdef WITH_MPI
	return blobio_array_create_mpi(MPI_COMM_WORLD, dir, "rho", BLOBIO_DOUBLE, 2, shape, options, a);
#else
	return blobio_array_create(dir, "rho", BLOBIO_DOUBLE, 2, shape, options, a);
#endif
}

static int open_array(const char *dir, int64_t version, blobio_array **a) {
#ifdef WITH_MPI
	return blobio_array_open_mpi(MPI_COMM_WORLD, dir, "rho", version, NULL, a);
#else
	return blobio_array_open(dir, "rho", version, NULL, a);
#endif
}

static void store(const char *dir, int again) {
	blobio_store *s = NULL;
	static double x[N];
	int step = -1, ids[8], n = -1, got = -1;
	int64_t bytes = -1;
	OK(open_store(dir, "keep=2,block=4K", &s));
	OK(blobio_store_protect(s, 1, x, sizeof x));
	OK(blobio_store_protect(s, 7, &step, sizeof step));
	if (!again) {
		NOT(BLOBIO_EMISSING, blobio_store_recover(s, -1, &got));
		for (step = 1; step <= 3; step++) {
			for (int i = 0; i < 10 * step; i++)
				x[i] = 1000 * rank + step;
			OK(step == 1 ? blobio_store_checkpoint(s, step) : blobio_store_checkpoint_diff(s, step));
		}
		NOT(BLOBIO_EINVAL, blobio_store_checkpoint(s, 3)); /* ids grow */
	} else {
		OK(blobio_store_recover(s, -1, &got));
		EQ(got, 3);
		EQ(step, 3);
		EQ((int)x[29], 1000 * rank + 3);
		EQ((int)x[30], 0);
		OK(blobio_store_recover(s, 2, &got));
		EQ((int)x[19], 1000 * rank + 2);
		EQ((int)x[20], 0);
		OK(blobio_store_inq_size(s, 2, 1, &bytes));
		EQ((int)bytes, (int)sizeof x);
		NOT(BLOBIO_ENOTFOUND, blobio_store_inq_size(s, 2, 2, &bytes));
		OK(blobio_store_protect(s, 1, x, sizeof x - 8));
		NOT(BLOBIO_EINVAL, blobio_store_recover(s, 3, NULL));
		NOT(BLOBIO_EMISSING, blobio_store_recover(s, -2, NULL));
	}
	OK(blobio_store_list(s, 8, ids, &n));
	EQ(n, 2);
	EQ(ids[1], 3);
	NOT(BLOBIO_ESMALL, blobio_store_list(s, 1, ids, &n));
	EQ(n, 2);
	NOT(BLOBIO_EINVAL, blobio_store_protect(s, 9, NULL, 8));
	NOT(BLOBIO_EINVAL, blobio_store_protect(s, -1, x, 8));
	OK(blobio_store_close(s));
	NOT(BLOBIO_EHANDLE, blobio_store_close(s));
	NOT(BLOBIO_EHANDLE, blobio_store_protect(s, 1, x, 8));
	NOT(BLOBIO_EINVAL, open_store(dir, "depth=2", &s));
	NOT(BLOBIO_EINVAL, open_store(dir, "keep=0", &s));
	NOT(BLOBIO_EINVAL, open_store(dir, "keep=65", &s));
	NOT(BLOBIO_EINVAL, open_store(NULL, NULL, &s));
}

/* Puts a value into the rows of a rank. */
static void put_rows(blobio_array *a, double v) {
	double row[20];
	for (int i = 0; i < 20; i++)
		row[i] = v;
	for (int64_t r = rank; r < 40; r += ranks)
		OK(blobio_array_put(a, (int64_t[]){r, 0}, (int64_t[]){1, 20}, BLOBIO_DOUBLE, row, 20));
	OK(blobio_array_fence(a));
}

static double first(blobio_array *a) {
	double v = -1;
	OK(blobio_array_get(a, (int64_t[]){39, 19}, (int64_t[]){1, 1}, BLOBIO_DOUBLE, &v, 1));
	return v;
}

static void array(const char *dir, int again) {
	blobio_array *a = NULL;
	int64_t shape[2] = {40, 20}, v = -1, versions[16], newest = -1, bad[2] = {3, 4};
	int tainted[16], n = -1, ndims = -1;
	blobio_type type = 0;
	double x = -1;
	float f = 0;
	if (!again) {
		OK(create_array(dir, shape, "keep=9,chunk=512", &a));
		for (int i = 1; i <= 4; i++) {
			put_rows(a, i);
			OK(blobio_array_increment(a, 1, i == 2 ? "the second" : NULL, &v));
			EQ((int)v, i);
		}
		OK(blobio_array_get_at(a, 2, (int64_t[]){39, 19}, (int64_t[]){1, 1}, BLOBIO_DOUBLE, &x, 1));
		EQ((int)x, 2);
		NOT(BLOBIO_EINVAL, blobio_array_get_at(a, 2, (int64_t[]){0, 0}, (int64_t[]){1, 1}, BLOBIO_FLOAT, &f, 1));
		NOT(BLOBIO_EINVAL, blobio_array_get(a, (int64_t[]){0, 0}, (int64_t[]){1, 1}, BLOBIO_CHAR, &f, 1));
		NOT(BLOBIO_ERANGE, blobio_array_put(a, (int64_t[]){40, 0}, (int64_t[]){1, 1}, BLOBIO_DOUBLE, &x, 1));
		NOT(BLOBIO_EINVAL, blobio_array_put(a, (int64_t[]){0, 0}, (int64_t[]){1, 2}, BLOBIO_DOUBLE, &x, 1));
		NOT(BLOBIO_EINVAL, blobio_array_put(a, NULL, (int64_t[]){1, 1}, BLOBIO_DOUBLE, &x, 1));
		NOT(BLOBIO_ENOTFOUND, blobio_array_restore(a, rank ? 1 : 9)); /* the same error on all ranks */
		OK(blobio_array_restore(a, 2));
		EQ((int)first(a), 2);
		OK(blobio_array_taint(a, 2, bad)); /* found late */
	} else {
		NOT(BLOBIO_ENOTFOUND, open_array(dir, -2, &a));
		OK(open_array(dir, -1, &a));
		EQ((int)first(a), 2); /* not 4 */
		OK(blobio_array_inq(a, &type, &ndims, shape, 2, &newest));
		EQ(type, BLOBIO_DOUBLE);
		EQ(ndims, 2);
		EQ((int)shape[1], 20);
		EQ((int)newest, 2);
		OK(blobio_array_list(a, 16, versions, tainted, &n));
		EQ(n, 5);
		EQ(tainted[2], 0);
		EQ(tainted[3], 1);
		EQ((int)versions[4], 4);
		OK(blobio_array_close(a));
		OK(open_array(dir, 4, &a));
		EQ((int)first(a), 4);
	}
	OK(blobio_array_close(a));
	NOT(BLOBIO_EHANDLE, blobio_array_fence(a));
	NOT(BLOBIO_EEXIST, create_array(dir, shape, NULL, &a));
	NOT(BLOBIO_EINVAL, blobio_array_create(dir, "text", BLOBIO_CHAR, 2, shape, NULL, &a));
	NOT(BLOBIO_EINVAL, blobio_array_create(dir, "no/name", BLOBIO_INT, 2, shape, NULL, &a));
	NOT(BLOBIO_EINVAL, blobio_array_create(dir, "deep", BLOBIO_INT, 5000000, shape, NULL, &a));
	OK(create_array(NULL, shape, NULL, &a)); /* the array is in memory */
	put_rows(a, 5);
	OK(blobio_array_increment(a, 1, NULL, NULL));
	OK(blobio_array_close(a));
}

int main(int argc, char **argv) {
#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
	char name[1000];
	int again = argc > 2;
	int64_t counts[3] = {-1, -1, -1};
	snprintf(name, sizeof name, "%s/store", argv[1]);
	store(name, again);
	OK(blobio_check(name, NULL, NULL, NULL, counts));
	EQ((int)counts[2], 0);
	array(argv[1], again);
	snprintf(name, sizeof name, "%s/rho", argv[1]);
	OK(blobio_check(name, NULL, NULL, NULL, counts));
	EQ((int)counts[2], 0);
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return failures != 0;
}
