/* Calls the MPI functions of the API, with right and wrong arguments. Arguments: an empty directory, and the thread level. */
#include "blobio_mpi.h"
#include "expect.h"

enum { N = 40 };

static int rank, ranks;
static const char *dir;

static const char *in_dir(const char *name) {
	static char buf[4][4096];
	static int k;
	k = (k + 1) % 4;
	snprintf(buf[k], sizeof buf[k], "%s/%s", dir, name);
	return buf[k];
}

/* Rank r owns elements r, r+ranks, ...; if there are several ranks, the last rank owns nothing. */
static int owners(void) { return ranks > 1 ? ranks - 1 : 1; }

static int64_t owned(int64_t *compdof) {
	int64_t n = 0;
	for (int64_t i = rank; rank < owners() && i < N; i += owners())
		compdof[n++] = i + 1;
	return n;
}

static blobio_file *define(const char *path, const char *options, int *v) {
	blobio_file *f = NULL;
	int x, t, d;
	int64_t dof[N], n = owned(dof);
	OK(blobio_create_mpi(MPI_COMM_WORLD, path, options, &f));
	OK(blobio_def_dim(f, "t", BLOBIO_UNLIMITED, &t));
	OK(blobio_def_dim(f, "x", N, &x));
	OK(blobio_def_decomp_pio(f, 1, &x, n, dof, &d));
	int tx[2] = {t, x};
	OK(blobio_def_var(f, "v", BLOBIO_INT, 2, tx, d, v));
	return f;
}

static void put(blobio_file *f, int v, int64_t rec) {
	int64_t dof[N], n = owned(dof);
	int32_t data[N];
	for (int64_t k = 0; k < n; k++)
		data[k] = (int32_t)(100 * rec + dof[k] - 1);
	OK(blobio_put_int32(f, v, rec, data, n));
}

/* All ranks read together, each rank a different part. If there are several ranks, the first reads nothing. */
static void together(const char *path, int64_t records) {
	blobio_file *f;
	int v;
	OK(blobio_open_mpi(MPI_COMM_WORLD, path, "collective=yes", &f));
	OK(blobio_inq_varid(f, "v", &v));
	int parts = ranks > 1 ? ranks - 1 : 1, part = ranks > 1 ? rank - 1 : 0;
	int64_t off = part < 0 ? 0 : (int64_t)N * part / parts, len = part < 0 ? 0 : (int64_t)N * (part + 1) / parts - off;
	int64_t dof[N + 1];
	for (int64_t k = 0; k < len; k++)
		dof[k] = off + len - k; /* backwards */
	dof[len] = 0;
	for (int64_t r = 0; r < records; r++) {
		int32_t data[N];
		double back[N + 1];
		OK(blobio_get_darray_all(f, v, r, len > 0, &off, &len, BLOBIO_INT, data, len));
		for (int64_t k = 0; k < len; k++)
			EQ(data[k], 100 * r + off + k);
		back[len] = -5;
		OK(blobio_get_darray_pio_all(f, v, r, len + 1, dof, BLOBIO_DOUBLE, back));
		for (int64_t k = 0; k < len; k++)
			EQ(back[k], 100 * r + off + len - 1 - k);
		EQ(back[len], -5);
		/* If an argument is wrong on one rank, all ranks get an error. */
		NOT(BLOBIO_EINVAL, blobio_get_darray_all(f, rank == ranks - 1 ? v + 1 : v, r, len > 0, &off, &len, BLOBIO_INT, data, len));
		NOT(BLOBIO_EINVAL, blobio_get_darray_all(f, v, rank == 0 ? records : r, len > 0, &off, &len, BLOBIO_INT, data, len));
		int odd = rank == ranks - 1;
		NOT(BLOBIO_EINVAL, blobio_get_darray_all(f, v, r, len > 0, &off, &len, BLOBIO_INT, odd ? NULL : data, len));
		NOT(BLOBIO_EINVAL, blobio_get_darray_all(f, v, r, odd ? -1 : len > 0, &off, &len, BLOBIO_INT, data, len));
		NOT(BLOBIO_EINVAL, blobio_get_darray_all(f, v, r, len > 0, odd ? NULL : &off, &len, BLOBIO_INT, data, len));
		NOT(BLOBIO_EINVAL, blobio_get_darray_all(f, v, r, len > 0, &off, &len, odd ? 77 : BLOBIO_INT, data, len));
		NOT(BLOBIO_EINVAL, blobio_get_darray_pio_all(f, v, r, len + 1, odd ? NULL : dof, BLOBIO_DOUBLE, back));
		if (ranks > 1)
			NOT(BLOBIO_EINVAL, blobio_open_mpi(MPI_COMM_WORLD, path, rank == 0 ? "collective=yes" : NULL, &(blobio_file *){0}));
	}
	if (ranks > 1 && records > 0) { /* a rank that refreshes alone reads a different state */
		int32_t data[N];
		if (rank == 0)
			OK(blobio_refresh(f, NULL));
		NOT(BLOBIO_EINVAL, blobio_get_darray_all(f, v, 0, len > 0, &off, &len, BLOBIO_INT, data, len));
		if (rank != 0)
			OK(blobio_refresh(f, NULL));
		OK(blobio_get_darray_all(f, v, 0, len > 0, &off, &len, BLOBIO_INT, data, len));
	}
	OK(blobio_close(f));
}

static void expect(const char *path, int64_t records) {
	blobio_file *f;
	int v, wrote, subfiles;
	OK(blobio_open_mpi(MPI_COMM_WORLD, path, NULL, &f));
	OK(blobio_inq_varid(f, "v", &v));
	OK(blobio_inq_ranks(f, &subfiles, &wrote));
	EQ(wrote, ranks);
	int64_t recs, off = (int64_t)N * rank / ranks, len = (int64_t)N * (rank + 1) / ranks - off;
	OK(blobio_inq(f, NULL, NULL, NULL, NULL, NULL, NULL, &recs));
	EQ(recs, records);
	for (int64_t r = 0; r < recs; r++) {
		int32_t data[N];
		OK(blobio_get_darray(f, v, r, 1, &off, &len, BLOBIO_INT, data, len));
		for (int64_t k = 0; k < len; k++)
			EQ(data[k], 100 * r + off + k);
	}
	NOT(BLOBIO_ESTATE, blobio_get_darray_all(f, v, 0, 0, NULL, NULL, BLOBIO_INT, NULL, 0));
	OK(blobio_close(f)); /* this close is not collective */
	together(path, recs);
	int64_t counts[3];
	if (rank == 0) {
		OK(blobio_check(path, NULL, NULL, NULL, counts));
		EQ(counts[2], 0);
	}
	MPI_Barrier(MPI_COMM_WORLD); /* the next test may replace the dataset */
}

static void layouts(void) {
	const char *options[] = {"", "layout=process", "layout=process records=3", "subfiles=2", "retain=close grouping=roundrobin subfiles=2"};
	for (int k = 0; k < 5; k++) {
		char name[32];
		snprintf(name, sizeof name, "l%d", k);
		int v, d;
		blobio_file *f = define(in_dir(name), k == 3 && ranks == 1 ? "" : k == 4 ? "retain=copy" : options[k], &v);
		OK(blobio_enddef(f));
		for (int r = 0; r < 3; r++) {
			put(f, v, r);
			if (r == 0)
				OK(blobio_flush_async(f));
			if (r == 1)
				OK(blobio_flush(f));
		}
		OK(blobio_close(f));
		expect(in_dir(name), 3);
		int64_t dof[N], n = owned(dof);
		OK(blobio_append_mpi(MPI_COMM_WORLD, in_dir(name), k == 3 && ranks > 1 ? "subfiles=2" : "", &f));
		OK(blobio_def_decomp_pio(f, 0, NULL, n, dof, &d));
		OK(blobio_enddef(f));
		put(f, v, 3);
		OK(blobio_close(f));
		expect(in_dir(name), 4);
	}
}

static int last(void) { return rank == ranks - 1; }

/* Ranks read together, and the last rank passes an invalid handle. The other ranks must not wait for it. */
static void bad_handle(const char *path, int pio) {
	blobio_file *f, *closed;
	int v;
	int32_t data[N];
	int64_t off = 0, len = N, dof[N];
	for (int k = 0; k < N; k++)
		dof[k] = k + 1;
	OK(blobio_open(path, NULL, &closed));
	OK(blobio_close(closed));
	OK(blobio_open_mpi(MPI_COMM_WORLD, path, "collective=yes", &f));
	OK(blobio_inq_varid(f, "v", &v));
	for (int k = 0; k < 2; k++) { /* the second time, reading together is broken on all ranks */
		blobio_file *h = !last() || k > 0 ? f : pio ? NULL : closed;
		NOT(h == f ? BLOBIO_EBROKEN : BLOBIO_EHANDLE, pio ? blobio_get_darray_pio_all(h, v, 0, N, dof, BLOBIO_INT, data)
		                                                  : blobio_get_darray_all(h, v, 0, 1, &off, &len, BLOBIO_INT, data, N));
		if (h == f && ranks > 1)
			SAYS("handle ");
	}
	OK(blobio_get_darray(f, v, 0, 1, &off, &len, BLOBIO_INT, data, N)); /* each rank alone */
	EQ(data[N - 1], N - 1);
	blobio_close(f);
}

/* If one rank has an error, all ranks must get an error, without a hang. */
static void failures_of_one(void) {
	blobio_file *f = NULL;
	int v, id;
	NOT(BLOBIO_EINVAL, blobio_create_mpi(MPI_COMM_WORLD, last() ? NULL : in_dir("f"), NULL, &f));
	NOT(BLOBIO_EINVAL, blobio_create_mpi(MPI_COMM_WORLD, in_dir("f"), last() ? "colour=red" : NULL, &f));
	NOT(BLOBIO_EINVAL, blobio_create_mpi(MPI_COMM_WORLD, in_dir("f"), NULL, last() ? NULL : &f));
	NOT(BLOBIO_EINVAL, blobio_open_mpi(MPI_COMM_WORLD, last() ? "" : in_dir("f"), NULL, &f));
	NOT(BLOBIO_ENOTFOUND, blobio_open_mpi(MPI_COMM_WORLD, in_dir("none"), NULL, &f));
	NOT(BLOBIO_ENOTFOUND, blobio_append_mpi(MPI_COMM_WORLD, in_dir("none"), NULL, &f));
	NOT(BLOBIO_EINVAL, blobio_create_mpi(MPI_COMM_NULL, in_dir("f"), NULL, &f));

	/* a definition */
	f = define(in_dir("f1"), NULL, &v);
	if (last())
		NOT(BLOBIO_EINVAL, blobio_def_dim(f, "bad", -1, &id));
	NOT(BLOBIO_EINVAL, blobio_enddef(f));
	NOT(BLOBIO_EBROKEN, blobio_flush(f));
	NOT(BLOBIO_EBROKEN, blobio_close(f));

	/* different definitions, and a missing directory */
	if (ranks > 1) {
		f = define(in_dir("f2"), NULL, &v);
		OK(blobio_def_dim(f, "y", 3 + last(), &id));
		NOT(BLOBIO_EINVAL, blobio_enddef(f));
		NOT(BLOBIO_EBROKEN, blobio_close(f));
	}
	f = define(in_dir("no/such/f"), NULL, &v);
	NOT(BLOBIO_ENOTFOUND, blobio_enddef(f));
	NOT(BLOBIO_EBROKEN, blobio_close(f));

	/* an error of a put stays local */
	f = define(in_dir("f3"), NULL, &v);
	OK(blobio_enddef(f));
	put(f, v, 0);
	if (last())
		NOT(BLOBIO_EINVAL, blobio_put_int32(f, v, 0, NULL, 3));
	OK(blobio_close(f));
	expect(in_dir("f3"), 1);
	bad_handle(in_dir("f3"), 0);
	bad_handle(in_dir("f3"), 1);

	/* if ranks make different calls, the error names the calls */
	if (ranks > 1) {
		f = define(in_dir("f5"), NULL, &v);
		OK(blobio_enddef(f));
		NOT(BLOBIO_EMISMATCH, last() ? blobio_put_att_text(f, BLOBIO_GLOBAL, "title", 1, "x") : blobio_flush(f));
		SAYS("blobio_put_att");
		SAYS("blobio_flush");
		blobio_abort(f);
		MPI_Barrier(MPI_COMM_WORLD);
	}

	/* one rank aborts */
	f = define(in_dir("f4"), NULL, &v);
	OK(blobio_enddef(f));
	put(f, v, 0);
	OK(blobio_flush(f));
	MPI_Barrier(MPI_COMM_WORLD); /* without the barrier, other ranks may still be in flush, which then fails */
	if (last()) {
		OK(blobio_abort(f));
	} else {
		NOT(BLOBIO_EBROKEN, blobio_flush(f));
		NOT(BLOBIO_EBROKEN, blobio_close(f));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	int rc = blobio_open_mpi(MPI_COMM_WORLD, in_dir("f4"), NULL, &f);
	if (rc != BLOBIO_ENOTCOMMITTED && rc != BLOBIO_ENOTFOUND)
		FAIL("open of what was given up: %d %s", rc, blobio_last_error());
}

/* Communicators of subsets of the ranks at the same time, a Fortran handle, and many communicators one after the other. */
static void communicators(void) {
	MPI_Comm half;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	int r, n, x, d, v;
	MPI_Comm_rank(half, &r);
	MPI_Comm_size(half, &n);
	for (int k = 0; k < 20; k++) {
		char name[32];
		snprintf(name, sizeof name, "half%d", rank % 2);
		blobio_file *f;
		OK(k % 2 ? blobio_create_mpi(half, in_dir(name), "force=yes durability=none", &f)
		         : blobio_create_fcomm((int)MPI_Comm_c2f(half), in_dir(name), "force=yes durability=none", &f));
		OK(blobio_def_dim(f, "x", 2 * n, &x));
		int64_t off = 2 * r, len = 2;
		OK(blobio_def_decomp(f, 1, &x, 1, &off, &len, &d));
		OK(blobio_def_var(f, "v", BLOBIO_DOUBLE, 1, &x, d, &v));
		OK(blobio_enddef(f));
		double two[2] = {off, off + 1};
		OK(blobio_put_double(f, v, 0, two, 2));
		OK(blobio_close(f));
		OK(blobio_open_fcomm((int)MPI_Comm_c2f(half), in_dir(name), NULL, &f));
		double all[2 * 64];
		OK(blobio_get_vara(f, v, NULL, NULL, BLOBIO_DOUBLE, all, 2 * n));
		EQ(all[2 * n - 1], 2 * n - 1);
		OK(blobio_close(f));
		MPI_Barrier(half);
	}
	MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	dir = argv[1];
	int level = MPI_THREAD_SINGLE;
	if (!strcmp(argv[2], "single"))
		MPI_Init(&argc, &argv);
	else if (!strcmp(argv[2], "multiple"))
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	else
		MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	EQ(blobio_has_mpi(), 1);
	layouts();
	failures_of_one();
	communicators();
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (rank == 0)
		printf("%d ranks, thread level %d, %d failures\n", ranks, level, failures);
	return failures != 0;
}
