/* Calls all serial functions of blobio.h, with right and wrong arguments. Argument: an empty directory. */
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { NX = 12, NLEV = 3, N = NX * NLEV, RECORDS = 4 };

static const char *dir;

static const char *in_dir(const char *name) {
	static char buf[4][4096];
	static int k;
	k = (k + 1) % 4;
	snprintf(buf[k], sizeof buf[k], "%s/%s", dir, name);
	return buf[k];
}

/* The value of element i of a record. */
static double value(int64_t rec, int64_t i) { return (double)(1000 * rec + i); }

/* The only rank owns the whole array, in three runs; the last row comes first. */
static const int64_t offsets[3] = {2 * NX, 0, NX}, lengths[3] = {NX, NX, NX};

static int64_t owned(int64_t k) { return k < NX ? 2 * NX + k : k - NX; }

typedef struct {
	int time, lev, x, d, cloud, temp, hyam, name, i8, u8, i16, u16, i32, u32, i64, u64;
} ids;

static void define(blobio_file *f, ids *v) {
	OK(blobio_def_dim(f, "time", BLOBIO_UNLIMITED, &v->time));
	OK(blobio_def_dim(f, "lev", NLEV, &v->lev));
	OK(blobio_def_dim(f, "x", NX, &v->x));
	int c;
	OK(blobio_def_dim(f, "chars", 8, &c));
	int dd[2] = {v->lev, v->x}, d3[3] = {v->time, v->lev, v->x}, tc[2] = {v->time, c};
	OK(blobio_def_decomp(f, 2, dd, 3, offsets, lengths, &v->d));
	EQ(v->d, 1);
	OK(blobio_def_var(f, "cloud", BLOBIO_FLOAT, 3, d3, v->d, &v->cloud));
	OK(blobio_def_var(f, "temp", BLOBIO_DOUBLE, 2, dd, v->d, &v->temp));
	OK(blobio_def_var(f, "hyam", BLOBIO_DOUBLE, 1, &v->lev, BLOBIO_NO_DECOMP, &v->hyam));
	OK(blobio_def_var(f, "name", BLOBIO_CHAR, 2, tc, BLOBIO_NO_DECOMP, &v->name));
	OK(blobio_def_var(f, "i8", BLOBIO_BYTE, 1, &v->lev, 0, &v->i8));
	OK(blobio_def_var(f, "u8", BLOBIO_UBYTE, 1, &v->lev, 0, &v->u8));
	OK(blobio_def_var(f, "i16", BLOBIO_SHORT, 1, &v->lev, 0, &v->i16));
	OK(blobio_def_var(f, "u16", BLOBIO_USHORT, 1, &v->lev, 0, &v->u16));
	OK(blobio_def_var(f, "i32", BLOBIO_INT, 1, &v->lev, 0, &v->i32));
	OK(blobio_def_var(f, "u32", BLOBIO_UINT, 1, &v->lev, 0, &v->u32));
	OK(blobio_def_var(f, "i64", BLOBIO_INT64, 1, &v->lev, 0, &v->i64));
	OK(blobio_def_var(f, "u64", BLOBIO_UINT64, 1, &v->lev, 0, &v->u64));
	double two[2] = {0.5, 1.5};
	int16_t shorts[3] = {-1, 2, 300};
	OK(blobio_put_att_text(f, BLOBIO_GLOBAL, "title", -1, "a test"));
	OK(blobio_put_att_text(f, v->cloud, "units", 1, "12345"));
	OK(blobio_put_att_text(f, v->cloud, "units", 1, "1")); /* replaced */
	OK(blobio_put_att_text(f, v->cloud, "empty", 0, NULL));
	OK(blobio_put_att(f, v->cloud, "range", BLOBIO_DOUBLE, 2, two));
	OK(blobio_put_att(f, BLOBIO_GLOBAL, "shorts", BLOBIO_SHORT, 3, shorts));
}

/* Puts each record from a buffer that is overwritten at once, because puts copy. */
static void put_records(blobio_file *f, const ids *v, int64_t from, int64_t end) {
	float buf[N];
	for (int64_t r = from; r < end; r++) {
		for (int k = 0; k < N; k++)
			buf[k] = (float)value(r, owned(k));
		OK(blobio_put_float(f, v->cloud, r, buf, N));
		memset(buf, 0xff, sizeof buf);
		char name[8] = "rec 0  ";
		name[4] = (char)('0' + r);
		OK(blobio_put_text(f, v->name, r, name, 8));
		if (r % 2)
			OK(blobio_flush(f));
	}
}

static void put_fixed(blobio_file *f, const ids *v) {
	double t[N];
	for (int k = 0; k < N; k++)
		t[k] = value(7, owned(k));
	OK(blobio_put(f, v->temp, 0, BLOBIO_DOUBLE, t, N));
	double h[NLEV] = {1, 2, 3};
	OK(blobio_put_double(f, v->hyam, 0, h, NLEV));
	int64_t start = 1, count = 2;
	double part[2] = {20, 30};
	OK(blobio_put_vara(f, v->hyam, 0, &start, &count, BLOBIO_DOUBLE, part, 2));
	int8_t i8[NLEV] = {-128, 0, 127};
	uint8_t u8[NLEV] = {0, 1, 255};
	int16_t i16[NLEV] = {INT16_MIN, 0, INT16_MAX};
	uint16_t u16[NLEV] = {0, 1, UINT16_MAX};
	int32_t i32[NLEV] = {INT32_MIN, 0, INT32_MAX};
	uint32_t u32[NLEV] = {0, 1, UINT32_MAX};
	int64_t i64[NLEV] = {INT64_MIN, 0, INT64_MAX};
	uint64_t u64[NLEV] = {0, 1, UINT64_MAX};
	OK(blobio_put_int8(f, v->i8, 0, i8, NLEV));
	OK(blobio_put_uint8(f, v->u8, 0, u8, NLEV));
	OK(blobio_put_int16(f, v->i16, 0, i16, NLEV));
	OK(blobio_put_uint16(f, v->u16, 0, u16, NLEV));
	OK(blobio_put_int32(f, v->i32, 0, i32, NLEV));
	OK(blobio_put_uint32(f, v->u32, 0, u32, NLEV));
	OK(blobio_put_int64(f, v->i64, 0, i64, NLEV));
	OK(blobio_put_uint64(f, v->u64, 0, u64, NLEV));
}

static void check_all(blobio_file *f, int layout, int64_t records) {
	int l, ndims, nvars, natts, ndecomps, unlim, id, n, d, types;
	int64_t recs, len;
	OK(blobio_inq(f, &l, &ndims, &nvars, &natts, &ndecomps, &unlim, &recs));
	EQ(l, layout);
	EQ(ndims, 4);
	EQ(nvars, 12);
	EQ(natts, 2);
	EQ(unlim, 0);
	EQ(recs, records);
	OK(blobio_inq(f, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	char name[64];
	OK(blobio_inq_dimid(f, "lev", &id));
	OK(blobio_inq_dim(f, id, name, sizeof name, &len));
	SAME(name, "lev");
	EQ(len, NLEV);
	OK(blobio_inq_dim(f, unlim, NULL, 0, &len));
	EQ(len, records);
	NOT(BLOBIO_ENOTFOUND, blobio_inq_dimid(f, "nodim", &id));
	NOT(BLOBIO_EINVAL, blobio_inq_dim(f, 4, name, sizeof name, &len));
	NOT(BLOBIO_EINVAL, blobio_inq_dim(f, -1, name, sizeof name, &len));
	NOT(BLOBIO_ESMALL, blobio_inq_dim(f, 1, name, 3, &len));
	SAME(name, "le");

	int cloud, dims[3];
	OK(blobio_inq_varid(f, "cloud", &cloud));
	OK(blobio_inq_var(f, cloud, name, sizeof name, &types, &n, dims, 3, &natts, &d));
	SAME(name, "cloud");
	EQ(types, BLOBIO_FLOAT);
	EQ(n, 3);
	EQ(natts, 3);
	EQ(dims[0], 0);
	EQ(dims[2], 2);
	EQ(d != 0, layout != BLOBIO_CANONICAL);
	NOT(BLOBIO_ESMALL, blobio_inq_var(f, cloud, NULL, 0, NULL, &n, dims, 2, NULL, NULL));
	EQ(n, 3);
	NOT(BLOBIO_EINVAL, blobio_inq_var(f, 12, NULL, 0, NULL, NULL, NULL, 0, NULL, NULL));
	NOT(BLOBIO_ENOTFOUND, blobio_inq_varid(f, "novar", &id));
	NOT(BLOBIO_EINVAL, blobio_inq_varid(f, NULL, &id));

	OK(blobio_inq_att(f, BLOBIO_GLOBAL, "title", &types, &len));
	EQ(types, BLOBIO_CHAR);
	EQ(len, 6);
	OK(blobio_get_att_text(f, BLOBIO_GLOBAL, "title", name, 7));
	SAME(name, "a test");
	NOT(BLOBIO_ESMALL, blobio_get_att_text(f, BLOBIO_GLOBAL, "title", name, 6));
	OK(blobio_get_att_text(f, cloud, "units", name, sizeof name));
	SAME(name, "1");
	OK(blobio_get_att_text(f, cloud, "empty", name, sizeof name));
	SAME(name, "");
	int32_t ints[3];
	OK(blobio_get_att(f, BLOBIO_GLOBAL, "shorts", BLOBIO_INT, ints, 3));
	EQ(ints[0], -1);
	EQ(ints[2], 300);
	NOT(BLOBIO_EINVAL, blobio_get_att(f, BLOBIO_GLOBAL, "shorts", BLOBIO_INT, ints, 2));
	NOT(BLOBIO_ERANGE, blobio_get_att(f, BLOBIO_GLOBAL, "shorts", BLOBIO_BYTE, ints, 3));
	NOT(BLOBIO_EINVAL, blobio_get_att(f, BLOBIO_GLOBAL, "shorts", 99, ints, 3));
	NOT(BLOBIO_EINVAL, blobio_get_att_text(f, BLOBIO_GLOBAL, "shorts", name, sizeof name));
	NOT(BLOBIO_ENOTFOUND, blobio_inq_att(f, cloud, "noatt", &types, &len));
	NOT(BLOBIO_EINVAL, blobio_inq_att(f, 77, "units", &types, &len));
	double range[2];
	OK(blobio_get_att(f, cloud, "range", BLOBIO_DOUBLE, range, 2));
	EQ(range[1] * 2, 3);
	OK(blobio_inq_attname(f, cloud, 0, name, sizeof name));
	SAME(name, "units");
	NOT(BLOBIO_EINVAL, blobio_inq_attname(f, cloud, 3, name, sizeof name));

	/* canonical reads: all elements, with conversion, and a hyperslab */
	double all[RECORDS * N];
	OK(blobio_get_vara(f, cloud, NULL, NULL, BLOBIO_DOUBLE, all, records * N));
	for (int64_t k = 0; k < records * N; k++)
		if (all[k] != value(k / N, k % N)) {
			FAIL("cloud[%lld] is %g", (long long)k, all[k]);
			break;
		}
	float slab[4];
	int64_t start[3] = {1, 1, 4}, count[3] = {2, 1, 2};
	OK(blobio_get_vara(f, cloud, start, count, BLOBIO_FLOAT, slab, 4));
	EQ(slab[0], value(1, NX + 4));
	EQ(slab[3], value(2, NX + 5));
	NOT(BLOBIO_EINVAL, blobio_get_vara(f, cloud, start, count, BLOBIO_FLOAT, slab, 3));
	NOT(BLOBIO_EINVAL, blobio_get_vara(f, cloud, start, NULL, BLOBIO_FLOAT, slab, 4));
	NOT(BLOBIO_EINVAL, blobio_get_vara(f, cloud, start, count, BLOBIO_FLOAT, NULL, 4));
	NOT(BLOBIO_EINVAL, blobio_get_vara(f, cloud, start, count, 0, slab, 4));
	start[0] = records;
	NOT(BLOBIO_EINVAL, blobio_get_vara(f, cloud, start, count, BLOBIO_FLOAT, slab, 4));

	/* by decomposition */
	int64_t off[2] = {20, 3}, lens[2] = {5, 2};
	float part[7];
	OK(blobio_get_darray(f, cloud, 1, 2, off, lens, BLOBIO_FLOAT, part, 7));
	EQ(part[0], value(1, 20));
	EQ(part[4], value(1, 24));
	EQ(part[6], value(1, 4));
	OK(blobio_get_darray(f, cloud, 1, 0, NULL, NULL, BLOBIO_FLOAT, NULL, 0));
	NOT(BLOBIO_EINVAL, blobio_get_darray(f, cloud, 1, 2, off, lens, BLOBIO_FLOAT, part, 6));
	NOT(BLOBIO_EINVAL, blobio_get_darray(f, cloud, records, 2, off, lens, BLOBIO_FLOAT, part, 7));
	NOT(BLOBIO_EINVAL, blobio_get_darray(f, cloud, 1, 2, off, NULL, BLOBIO_FLOAT, part, 7));
	lens[0] = N;
	NOT(BLOBIO_EINVAL, blobio_get_darray(f, cloud, 1, 2, off, lens, BLOBIO_FLOAT, part, N + 2));
	int64_t dof[4] = {36, 0, 1, 2};
	float four[4] = {-5, -5, -5, -5};
	OK(blobio_get_darray_pio(f, cloud, 2, 4, dof, BLOBIO_FLOAT, four));
	EQ(four[0], value(2, 35));
	EQ(four[1], -5);
	EQ(four[2], value(2, 0));
	EQ(four[3], value(2, 1));
	dof[0] = 37;
	NOT(BLOBIO_EINVAL, blobio_get_darray_pio(f, cloud, 2, 4, dof, BLOBIO_FLOAT, four));

	/* variables without a decomposition */
	double h[NLEV];
	OK(blobio_inq_varid(f, "hyam", &id));
	OK(blobio_get_vara(f, id, NULL, NULL, BLOBIO_DOUBLE, h, NLEV));
	EQ(h[0], 1);
	EQ(h[2], 30);
	uint64_t u[NLEV];
	OK(blobio_inq_varid(f, "u64", &id));
	OK(blobio_get_vara(f, id, NULL, NULL, BLOBIO_UINT64, u, NLEV));
	if (u[2] != UINT64_MAX)
		FAIL("u64[2] is %llx", (unsigned long long)u[2]);
	NOT(BLOBIO_ERANGE, blobio_get_vara(f, id, NULL, NULL, BLOBIO_INT64, u, NLEV));
	NOT(BLOBIO_EINVAL, blobio_get_vara(f, id, NULL, NULL, BLOBIO_CHAR, u, NLEV)); /* numbers do not convert to text */
	OK(blobio_inq_varid(f, "name", &id));
	int64_t s2[2] = {records - 1, 0}, c2[2] = {1, 8};
	char text[8];
	OK(blobio_get_vara(f, id, s2, c2, BLOBIO_CHAR, text, 8));
	EQ(text[4], '0' + records - 1);

	/* a dataset that is open for reading rejects writes */
	NOT(BLOBIO_ESTATE, blobio_put_float(f, cloud, 0, slab, 4));
	NOT(BLOBIO_ESTATE, blobio_flush(f));
	NOT(BLOBIO_ESTATE, blobio_flush_async(f));
	NOT(BLOBIO_ESTATE, blobio_wait(f));
	NOT(BLOBIO_ESTATE, blobio_enddef(f));
	NOT(BLOBIO_ESTATE, blobio_def_dim(f, "y", 3, &id));
	NOT(BLOBIO_ESTATE, blobio_abort(f));
}

static void check_blobs(blobio_file *f) {
	int subfiles, ranks, n, dims[2], cloud;
	OK(blobio_inq_ranks(f, &subfiles, &ranks));
	EQ(subfiles, 1);
	EQ(ranks, 1);
	OK(blobio_inq_decomp(f, 1, &n, dims, 2, &ranks));
	EQ(n, 2);
	EQ(dims[0], 1);
	EQ(ranks, 1);
	NOT(BLOBIO_EINVAL, blobio_inq_decomp(f, 2, &n, dims, 2, &ranks));
	NOT(BLOBIO_EINVAL, blobio_inq_decomp(f, 0, &n, dims, 2, &ranks));
	int64_t nruns, nelems, off[3], lens[3];
	OK(blobio_inq_decomp_rank(f, 1, 0, &nruns, &nelems));
	EQ(nruns, 3);
	EQ(nelems, N);
	OK(blobio_get_decomp_rank(f, 1, 0, 3, off, lens));
	EQ(off[0], 2 * NX);
	EQ(off[1], 0);
	EQ(lens[1], NX);
	NOT(BLOBIO_EINVAL, blobio_get_decomp_rank(f, 1, 0, 1, off, lens));
	NOT(BLOBIO_EINVAL, blobio_inq_decomp_rank(f, 1, 1, &nruns, &nelems));
	OK(blobio_inq_varid(f, "cloud", &cloud));
	double b[N];
	OK(blobio_get_blob(f, cloud, 1, 0, BLOBIO_DOUBLE, b, N));
	for (int k = 0; k < N; k++)
		EQ(b[k], value(1, owned(k)));
	NOT(BLOBIO_EINVAL, blobio_get_blob(f, cloud, 1, 0, BLOBIO_DOUBLE, b, N - 1));
	NOT(BLOBIO_EINVAL, blobio_get_blob(f, cloud, 1, 1, BLOBIO_DOUBLE, b, N));
	NOT(BLOBIO_EINVAL, blobio_get_blob(f, cloud, 99, 0, BLOBIO_DOUBLE, b, N));
	NOT(BLOBIO_ERANGE, blobio_get_blob(f, cloud, 3, 0, BLOBIO_BYTE, b, N));
}

static void expect_clean(const char *path) {
	int64_t counts[3] = {-1, -1, -1};
	char text[4096];
	OK(blobio_check_text(path, NULL, text, sizeof text, counts));
	EQ(counts[1], 0);
	EQ(counts[2], 0);
	if (counts[2])
		FAIL("%s", text);
}

/* Returns the state of a dataset, which it opens for this. */
static void state_of(const char *path, char state[33]) {
	blobio_file *f;
	memset(state, '?', 33);
	OK(blobio_open(path, NULL, &f));
	NOT(BLOBIO_ESMALL, blobio_inq_state(f, state, 32));
	OK(blobio_inq_state(f, state, 33));
	EQ(strlen(state), 32);
	OK(blobio_close(f));
}

/* The header of a dataset must equal the beginning of its ordinary netCDF file. */
static void check_header(const char *path, const char *canonical) {
	blobio_file *f;
	static char header[1 << 16], file[1 << 16];
	int64_t n = 0;
	OK(blobio_open(path, NULL, &f));
	OK(blobio_get_header(f, NULL, 0, &n));
	if (n < 100 || n > (int64_t)sizeof header) {
		FAIL("a header of %lld bytes", (long long)n);
		return;
	}
	NOT(BLOBIO_ESMALL, blobio_get_header(f, header, n - 1, NULL));
	NOT(BLOBIO_EINVAL, blobio_get_header(f, NULL, n, NULL));
	OK(blobio_get_header(f, header, n, NULL));
	OK(blobio_close(f));
	FILE *in = fopen(canonical, "rb");
	if (!in || fread(file, 1, n, in) != (size_t)n || memcmp(header, file, n))
		FAIL("the header of %s does not begin %s", path, canonical);
	if (in)
		fclose(in);
}

static void round_trip(const char *name, const char *options, int layout) {
	const char *path = in_dir(name);
	blobio_file *f = NULL;
	ids v;
	NOT(BLOBIO_EINVAL, blobio_create(path, "layout=process compress=zip", &f));
	SAYS("auto");
	OK(blobio_create(path, options, &f));
	define(f, &v);
	float x = 0;
	NOT(BLOBIO_ESTATE, blobio_put_float(f, v.cloud, 0, &x, 1));
	NOT(BLOBIO_ESTATE, blobio_flush(f));
	NOT(BLOBIO_ESTATE, blobio_flush_async(f));
	NOT(BLOBIO_ESTATE, blobio_wait(f));
	int64_t early;
	NOT(BLOBIO_ESTATE, blobio_inq_copies(f, &early, &early));
	OK(blobio_enddef(f));
	NOT(BLOBIO_ESTATE, blobio_enddef(f));
	NOT(BLOBIO_ESTATE, blobio_def_dim(f, "late", 3, NULL));
	int64_t n;
	OK(blobio_inq_put_count(f, v.cloud, &n));
	EQ(n, N);
	OK(blobio_inq_put_count(f, v.hyam, &n));
	EQ(n, NLEV);
	int64_t copies = -1, limit = -1;
	OK(blobio_inq_copies(f, &copies, &limit));
	EQ(copies, 0);
	put_fixed(f, &v);
	OK(blobio_inq_copies(f, &copies, &limit));
	if (copies <= 0 || limit < copies)
		FAIL("%lld bytes in copies of %lld", (long long)copies, (long long)limit);
	put_records(f, &v, 0, RECORDS - 1);

	/* wrong puts change nothing */
	double big[N] = {1e300};
	NOT(BLOBIO_ERANGE, blobio_put_double(f, v.cloud, 0, big, N));
	SAYS("cloud");
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v.cloud, 0, big, N - 1));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v.cloud, 0, big, -1));
	NOT(BLOBIO_EINVAL, blobio_put(f, v.cloud, 0, BLOBIO_CHAR, big, N)); /* numbers do not convert to text */
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v.cloud, 0, NULL, N));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v.cloud, -1, big, N));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v.temp, 1, big, N));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, 12, 0, big, N));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, -1, 0, big, N));
	NOT(BLOBIO_EINVAL, blobio_put(f, v.cloud, 0, 12, big, N));
	NOT(BLOBIO_EINVAL, blobio_put(f, v.name, 0, BLOBIO_DOUBLE, big, 8));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v.cloud, 0, (double *)((char *)big + 1), N - 1));
	NOT(BLOBIO_EFAULT, blobio_put_double(f, v.cloud, 0, (double *)8, N));
	NOT(BLOBIO_EFAULT, blobio_put_double(f, v.cloud, 0, big, INT64_MAX));
	int64_t start = 2, count = 2;
	NOT(BLOBIO_EINVAL, blobio_put_vara(f, v.hyam, 0, &start, &count, BLOBIO_DOUBLE, big, 2));
	NOT(BLOBIO_EINVAL, blobio_put_vara(f, v.hyam, 0, NULL, &count, BLOBIO_DOUBLE, big, 2));
	NOT(BLOBIO_EINVAL, blobio_put_vara(f, v.cloud, 0, &start, &count, BLOBIO_DOUBLE, big, 2));
	NOT(BLOBIO_ESTATE, blobio_get_vara(f, v.cloud, NULL, NULL, BLOBIO_DOUBLE, big, N));
	int64_t recs;
	OK(blobio_inq(f, NULL, NULL, NULL, NULL, NULL, NULL, &recs));
	EQ(recs, RECORDS - 1);
	OK(blobio_close(f));
	NOT(BLOBIO_EHANDLE, blobio_close(f));

	char before[33], after[33];
	state_of(path, before);
	state_of(path, after);
	SAME(after, before);

	/* one more record */
	NOT(BLOBIO_EEXIST, (blobio_create(path, options, &f) || blobio_close(f)) ? blobio_last_error_code() : 0);
	OK(blobio_append(path, options, &f));
	OK(blobio_inq_varid(f, "cloud", &v.cloud));
	OK(blobio_inq(f, NULL, NULL, NULL, NULL, NULL, NULL, &recs));
	EQ(recs, RECORDS - 1);
	NOT(BLOBIO_ESTATE, blobio_put_double(f, v.cloud, RECORDS, big, N));
	int d;
	OK(blobio_def_decomp(f, 0, NULL, 3, offsets, lengths, &d));
	EQ(d, 1);
	OK(blobio_enddef(f));
	OK(blobio_inq_varid(f, "cloud", &v.cloud));
	OK(blobio_inq_varid(f, "name", &v.name));
	OK(blobio_inq(f, NULL, NULL, NULL, NULL, NULL, NULL, &recs));
	EQ(recs, RECORDS - 1);
	put_records(f, &v, RECORDS - 1, RECORDS);
	OK(blobio_close(f));

	expect_clean(path);
	state_of(path, after);
	if (!strcmp(before, after))
		FAIL("the state is %s before and after an append", after);
	OK(blobio_open(path, NULL, &f));
	check_all(f, layout, RECORDS);
	if (layout == BLOBIO_VARIABLE_CENTRIC)
		check_blobs(f);
	OK(blobio_close(f));

	/* a run outside the array */
	int64_t other[3] = {0, NX, (int64_t)1 << 30};
	OK(blobio_append(path, options, &f));
	NOT(BLOBIO_EINVAL, blobio_def_decomp(f, 0, NULL, 3, other, lengths, &d));
	NOT(BLOBIO_EINVAL, blobio_enddef(f));
	NOT(BLOBIO_EBROKEN, blobio_put_double(f, 0, RECORDS, big, N));
	SAYS("because blobio_enddef failed: ");
	SAYS("want a run within 36"); /* the first of two errors */
	if (strchr(blobio_last_error(), '\n'))
		FAIL("two lines: %s", blobio_last_error());
	NOT(BLOBIO_EBROKEN, blobio_def_dim(f, "late", 3, NULL));
	NOT(BLOBIO_EBROKEN, blobio_enddef(f));
	if (blobio_close(f) == BLOBIO_OK)
		FAIL("close of a file that is broken");
	expect_clean(path);

	/* converts to netCDF, and back */
	char canonical[4200];
	snprintf(canonical, sizeof canonical, "%s.nc", path);
	OK(blobio_convert(path, canonical, NULL));
	NOT(BLOBIO_EEXIST, blobio_convert(path, canonical, NULL));
	OK(blobio_convert(path, canonical, "force=yes format=cdf5"));
	expect_clean(canonical);
	OK(blobio_open(canonical, NULL, &f));
	check_all(f, BLOBIO_CANONICAL, RECORDS);
	OK(blobio_close(f));
	check_header(path, canonical);
	char again[4200];
	snprintf(again, sizeof again, "%s.again", path);
	OK(blobio_convert(canonical, again, "format=process,ranks=3,subfiles=2,compress=shuffle+zstd:2"));
	OK(blobio_open(again, NULL, &f));
	check_all(f, BLOBIO_PROCESS_CENTRIC, RECORDS);
	OK(blobio_close(f));
}

/* Lent data must be read at flush, not before. */
static void lend(void) {
	blobio_file *f;
	ids v;
	const char *path = in_dir("lend");
	OK(blobio_create(path, "retain=flush", &f));
	define(f, &v);
	OK(blobio_enddef(f));
	float *buf = malloc(N * sizeof *buf);
	memset(buf, 0, N * sizeof *buf);
	OK(blobio_put_float(f, v.cloud, 0, buf, N));
	for (int k = 0; k < N; k++)
		buf[k] = 5;
	OK(blobio_flush(f));
	for (int k = 0; k < N; k++)
		buf[k] = 6;
	OK(blobio_put_float(f, v.cloud, 1, buf, N));
	int64_t bytes = -1, limit = -1;
	OK(blobio_inq_copies(f, &bytes, &limit));
	EQ(bytes, 0);
	OK(blobio_flush_async(f));
	OK(blobio_wait(f));
	OK(blobio_wait(f)); /* there is nothing to wait for */
	memset(buf, 0, N * sizeof *buf);
	free(buf);
	OK(blobio_close(f));
	float got;
	int64_t start[3] = {0}, count[3] = {1, 1, 1};
	OK(blobio_open(path, "memory=1M workers=1 max_open=1", &f));
	OK(blobio_get_vara(f, v.cloud, start, count, BLOBIO_FLOAT, &got, 1));
	EQ(got, 5);
	start[0] = 1;
	OK(blobio_get_vara(f, v.cloud, start, count, BLOBIO_FLOAT, &got, 1));
	EQ(got, 6);
	OK(blobio_close(f));
}

/* Committed data can be read at once, survive, and cannot be put again. */
static void commits(const char *options, int layout) {
	blobio_file *f, *r;
	ids v;
	int64_t n = -1;
	const char *path = in_dir(options);
	OK(blobio_create(path, options, &f));
	define(f, &v);
	NOT(BLOBIO_ESTATE, blobio_commit(f));
	NOT(BLOBIO_ESTATE, blobio_inq_committed(f, &n));
	OK(blobio_enddef(f));
	OK(blobio_inq_committed(f, &n));
	EQ(n, 0);
	put_fixed(f, &v);
	put_records(f, &v, 0, 3);
	OK(blobio_commit(f));
	OK(blobio_inq_committed(f, &n));
	EQ(n, 3);
	OK(blobio_open(path, NULL, &r));
	check_all(r, layout, 3);
	NOT(BLOBIO_ESTATE, blobio_commit(r));
	NOT(BLOBIO_ESTATE, blobio_inq_committed(r, &n));
	int status = -1;
	OK(blobio_inq_status(path, 0, &status, &n));
	EQ(status, BLOBIO_WRITING);
	EQ(n, 3);
	OK(blobio_inq_status(path, 1, NULL, NULL));
	NOT(BLOBIO_ESTATE, blobio_refresh(f, &n));
	blobio_file *follower = r;
	float buf[N] = {0};
	NOT(BLOBIO_EINVAL, blobio_put_float(f, v.cloud, 1, buf, N));
	SAYS("is already committed");
	double fixed[N] = {0};
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v.temp, 0, fixed, N));
	SAYS("the first blobio_commit has already committed");
	OK(blobio_put_float(f, v.cloud, 3, buf, N)); /* the record is incomplete, because name is missing */
	NOT(BLOBIO_HELD_BACK, blobio_commit(f));
	SAYS("record 3 is held back: no rank has put \"name\" of record 3");
	OK(blobio_commit_async(f));
	NOT(BLOBIO_HELD_BACK, blobio_wait(f));
	OK(blobio_wait(f));
	OK(blobio_inq_committed(f, &n));
	EQ(n, 3);
	OK(blobio_abort(f));
	OK(blobio_open(path, NULL, &r));
	check_all(r, layout, 3);
	OK(blobio_close(r));
	int d;
	OK(blobio_append(path, NULL, &f));
	OK(blobio_def_decomp(f, 0, NULL, 3, offsets, lengths, &d));
	OK(blobio_enddef(f));
	OK(blobio_inq_varid(f, "cloud", &v.cloud));
	OK(blobio_inq_varid(f, "name", &v.name));
	put_records(f, &v, 3, 4);
	OK(blobio_refresh(follower, &n));
	EQ(n, 3);
	OK(blobio_wait_records(follower, 3, 0, &n));
	EQ(n, 3);
	OK(blobio_wait_records(follower, 4, 0, &n)); /* not yet */
	EQ(n, 3);
	NOT(BLOBIO_ESTATE, blobio_wait_records(f, 4, 0, &n));
	OK(blobio_commit_async(f));
	OK(blobio_wait(f));
	OK(blobio_inq_committed(f, &n));
	EQ(n, 4);
	OK(blobio_wait_records(follower, 4, -1, &n));
	EQ(n, 4);
	OK(blobio_refresh(follower, &n));
	EQ(n, 4);
	check_all(follower, layout, 4);
	OK(blobio_close(f));
	OK(blobio_wait_records(follower, 5, -1, NULL)); /* no more records will come */
	OK(blobio_close(follower));
	OK(blobio_inq_status(path, 0, &status, &n));
	EQ(status, BLOBIO_FINISHED);
	EQ(n, 4);
	expect_clean(path);
	OK(blobio_open(path, NULL, &r));
	check_all(r, layout, 4);
	OK(blobio_close(r));
}

/* An append adds a dimension and variables, and puts attributes after enddef. Impossible definitions are errors at once. */
static void adds(const char *options, int layout) {
	blobio_file *f;
	ids v;
	char path[4200];
	snprintf(path, sizeof path, "%s more", in_dir(options));
	OK(blobio_create(path, options, &f));
	define(f, &v);
	OK(blobio_enddef(f));
	put_fixed(f, &v);
	put_records(f, &v, 0, 2);
	double range[2] = {-1, 4.5};
	OK(blobio_put_att_text(f, BLOBIO_GLOBAL, "title", -1, "another"));
	OK(blobio_put_att(f, v.cloud, "valid", BLOBIO_DOUBLE, 2, range));
	NOT(BLOBIO_EINVAL, blobio_put_att(f, v.cloud, "_FillValue", BLOBIO_FLOAT, 1, range));
	SAYS("cannot be changed");
	NOT(BLOBIO_EINVAL, blobio_put_att(f, 99, "valid", BLOBIO_DOUBLE, 2, range));
	NOT(BLOBIO_EINVAL, blobio_put_att(f, v.cloud, "valid", BLOBIO_DOUBLE, -3, range));
	NOT(BLOBIO_EINVAL, blobio_put_att(f, v.cloud, "", BLOBIO_DOUBLE, 2, range));
	NOT(BLOBIO_EINVAL, blobio_put_att(f, v.cloud, "valid", 99, 2, range));
	OK(blobio_close(f));
	NOT(BLOBIO_EHANDLE, blobio_put_att_text(f, BLOBIO_GLOBAL, "title", -1, "too late"));

	int id, fixed, d, two, pair, q;
	int lone = 1; /* lev */
	const char *wrong[] = {"unlimited", "dimension", "fixed", "variable", "attribute", "decomposition"};
	for (int k = 0; k < 6; k++) {
		OK(blobio_append(path, options, &f));
		OK(blobio_def_decomp(f, 0, NULL, 3, offsets, lengths, &d));
		NOT(k == 4 ? BLOBIO_ESTATE : BLOBIO_EINVAL, k == 0   ? blobio_def_dim(f, "t", BLOBIO_UNLIMITED, &id)
		                                            : k == 1 ? blobio_def_dim(f, "x", 4, &id)
		                                            : k == 2 ? blobio_def_var(f, "fixed", BLOBIO_INT, 1, &lone, 0, &fixed)
		                                            : k == 3 ? blobio_def_var(f, "cloud", BLOBIO_INT, 1, &v.time, 0, &fixed)
		                                            : k == 4 ? blobio_put_att_text(f, 0, "a", -1, "b")
		                                                     : blobio_def_decomp(f, 1, &lone, 3, offsets, lengths, &id));
		if (blobio_enddef(f) == BLOBIO_OK)
			FAIL("enddef although a definition was wrong: %s", wrong[k]);
		if (blobio_close(f) == BLOBIO_OK)
			FAIL("close although a definition was wrong: %s", wrong[k]);
	}
	OK(blobio_append(path, options, &f));
	OK(blobio_def_decomp(f, 0, NULL, 3, offsets, lengths, &d));
	OK(blobio_def_dim(f, "lonely", 2, &two));
	NOT(BLOBIO_EINVAL, blobio_enddef(f));
	SAYS("\"lonely\"");
	NOT(BLOBIO_EBROKEN, blobio_close(f));
	OK(blobio_append(path, options, &f));
	OK(blobio_def_decomp(f, 0, NULL, 3, offsets, lengths, &d));
	OK(blobio_def_dim(f, "two", 2, &two));
	int tp[2] = {v.time, two}, d3[3] = {v.time, v.lev, v.x};
	OK(blobio_def_var(f, "pair", BLOBIO_INT, 2, tp, 0, &pair));
	OK(blobio_def_var(f, "q", BLOBIO_FLOAT, 3, d3, d, &q));
	float fill = -5;
	OK(blobio_put_att(f, q, "_FillValue", BLOBIO_FLOAT, 1, &fill));
	OK(blobio_enddef(f));
	OK(blobio_inq_varid(f, "q", &id));
	EQ(id, q);
	OK(blobio_inq_varid(f, "cloud", &v.cloud));
	OK(blobio_inq_varid(f, "name", &v.name));
	put_records(f, &v, 2, 3);
	int32_t pairs[2] = {7, 8};
	float buf[N];
	for (int k = 0; k < N; k++)
		buf[k] = (float)owned(k);
	OK(blobio_put_int32(f, pair, 2, pairs, 2));
	OK(blobio_put_float(f, q, 2, buf, N));
	OK(blobio_put_att_text(f, q, "units", -1, "kg"));
	OK(blobio_close(f));
	expect_clean(path);
	OK(blobio_open(path, NULL, &f));
	char text[16];
	double got[2];
	int64_t start[3] = {1, 0, 0}, count[3] = {2, NLEV, NX}, start2[2] = {2, 0}, count2[2] = {1, 2};
	float both[2 * N];
	OK(blobio_get_att_text(f, BLOBIO_GLOBAL, "title", text, sizeof text));
	SAME(text, "another");
	OK(blobio_inq_varid(f, "q", &q));
	OK(blobio_inq_varid(f, "pair", &pair));
	OK(blobio_inq_varid(f, "cloud", &v.cloud));
	OK(blobio_get_att_text(f, q, "units", text, sizeof text));
	SAME(text, "kg");
	OK(blobio_get_att(f, v.cloud, "valid", BLOBIO_DOUBLE, got, 2));
	EQ(got[1] * 2, 9);
	OK(blobio_get_vara(f, q, start, count, BLOBIO_FLOAT, both, 2 * N));
	for (int k = 0; k < N; k++)
		if (both[k] != -5 || both[N + k] != (float)k)
			FAIL("element %d is %g before it was there, then %g", k, (double)both[k], (double)both[N + k]);
	OK(blobio_get_vara(f, pair, start2, count2, BLOBIO_INT, pairs, 2));
	EQ(pairs[1], 8);
	int l;
	OK(blobio_inq(f, &l, NULL, NULL, NULL, NULL, NULL, NULL));
	EQ(l, layout);
	OK(blobio_close(f));
}

/* PIO's form, with holes, and with elements in a different order. */
static void pio(void) {
	blobio_file *f;
	const char *path = in_dir("pio");
	int x, t, d, v;
	OK(blobio_create(path, "layout=process records=2", &f));
	OK(blobio_def_dim(f, "t", BLOBIO_UNLIMITED, &t));
	OK(blobio_def_dim(f, "x", 6, &x));
	int64_t bad[1] = {7}, worse[1] = {-1}, dof[8] = {4, 5, 6, 0, 1, 0, 3, 2};
	int tx[2] = {t, x};
	OK(blobio_def_decomp_pio(f, 1, &x, 8, dof, &d));
	OK(blobio_def_var(f, "v", BLOBIO_DOUBLE, 2, tx, d, &v));
	OK(blobio_enddef(f));
	int64_t n;
	OK(blobio_inq_put_count(f, v, &n));
	EQ(n, 8);
	double data[8] = {4, 5, 6, -9, 1, -9, 3, 2};
	for (int r = 0; r < 2; r++)
		OK(blobio_put_double(f, v, r, data, 8));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v, 0, data, 6));
	NOT(BLOBIO_EINVAL, blobio_put_double(f, v, 2, data, 8));
	OK(blobio_close(f));
	expect_clean(path);
	OK(blobio_open(path, NULL, &f));
	double got[12];
	OK(blobio_get_vara(f, 0, NULL, NULL, BLOBIO_DOUBLE, got, 12));
	for (int k = 0; k < 12; k++)
		EQ(got[k], k % 6 + 1);
	double back[8] = {0};
	OK(blobio_get_darray_pio(f, 0, 1, 8, dof, BLOBIO_DOUBLE, back));
	EQ(back[0], 4);
	EQ(back[3], 0);
	EQ(back[7], 2);
	OK(blobio_close(f));
	OK(blobio_create(in_dir("pio2"), "", &f));
	OK(blobio_def_dim(f, "x", 6, &x));
	NOT(BLOBIO_EINVAL, blobio_def_decomp_pio(f, 1, &x, 1, bad, &d));
	SAYS("compdof[0]");
	NOT(BLOBIO_EINVAL, blobio_def_decomp_pio(f, 1, &x, 1, worse, &d));
	NOT(BLOBIO_EINVAL, blobio_def_decomp_pio(f, 1, &x, 1, NULL, &d));
	NOT(BLOBIO_EINVAL, blobio_enddef(f)); /* because a definition has failed */
	SAYS("compdof[0]");
	if (blobio_close(f) == BLOBIO_OK)
		FAIL("close without a dataset");
}

static void bad_calls(void) {
	blobio_file *f = (blobio_file *)1;
	int id;
	int64_t n;
	double x;
	/* handles */
	blobio_file *wild[] = {NULL, (blobio_file *)1, (blobio_file *)-1, (blobio_file *)&x, (blobio_file *)0x10009};
	for (size_t k = 0; k < sizeof wild / sizeof wild[0]; k++) {
		blobio_file *w = wild[k];
		NOT(BLOBIO_EHANDLE, blobio_def_dim(w, "x", 1, &id));
		NOT(BLOBIO_EHANDLE, blobio_def_decomp(w, 1, &id, 0, NULL, NULL, &id));
		NOT(BLOBIO_EHANDLE, blobio_def_decomp_pio(w, 1, &id, 0, NULL, &id));
		NOT(BLOBIO_EHANDLE, blobio_def_var(w, "x", BLOBIO_INT, 0, NULL, 0, &id));
		NOT(BLOBIO_EHANDLE, blobio_put_att(w, -1, "x", BLOBIO_DOUBLE, 1, &x));
		NOT(BLOBIO_EHANDLE, blobio_put_att_text(w, -1, "x", 1, "x"));
		NOT(BLOBIO_EHANDLE, blobio_enddef(w));
		NOT(BLOBIO_EHANDLE, blobio_put_double(w, 0, 0, &x, 1));
		NOT(BLOBIO_EHANDLE, blobio_put_vara(w, 0, 0, &n, &n, BLOBIO_DOUBLE, &x, 1));
		NOT(BLOBIO_EHANDLE, blobio_inq_put_count(w, 0, &n));
		NOT(BLOBIO_EHANDLE, blobio_flush(w));
		NOT(BLOBIO_EHANDLE, blobio_close(w));
		NOT(BLOBIO_EHANDLE, blobio_abort(w));
		NOT(BLOBIO_EHANDLE, blobio_inq(w, &id, &id, &id, &id, &id, &id, &n));
		NOT(BLOBIO_EHANDLE, blobio_inq_ranks(w, &id, &id));
		NOT(BLOBIO_EHANDLE, blobio_inq_state(w, (char *)&x, 8));
		NOT(BLOBIO_EHANDLE, blobio_get_header(w, NULL, 0, &n));
		NOT(BLOBIO_EHANDLE, blobio_inq_dimid(w, "x", &id));
		NOT(BLOBIO_EHANDLE, blobio_inq_dim(w, 0, NULL, 0, &n));
		NOT(BLOBIO_EHANDLE, blobio_inq_varid(w, "x", &id));
		NOT(BLOBIO_EHANDLE, blobio_inq_var(w, 0, NULL, 0, &id, &id, NULL, 0, &id, &id));
		NOT(BLOBIO_EHANDLE, blobio_inq_attname(w, 0, 0, NULL, 0));
		NOT(BLOBIO_EHANDLE, blobio_inq_att(w, 0, "x", &id, &n));
		NOT(BLOBIO_EHANDLE, blobio_get_att(w, 0, "x", BLOBIO_DOUBLE, &x, 1));
		NOT(BLOBIO_EHANDLE, blobio_get_att_text(w, 0, "x", (char *)&x, 8));
		NOT(BLOBIO_EHANDLE, blobio_inq_decomp(w, 1, &id, NULL, 0, &id));
		NOT(BLOBIO_EHANDLE, blobio_inq_decomp_rank(w, 1, 0, &n, &n));
		NOT(BLOBIO_EHANDLE, blobio_get_decomp_rank(w, 1, 0, 1, &n, &n));
		NOT(BLOBIO_EHANDLE, blobio_get_vara(w, 0, NULL, NULL, BLOBIO_DOUBLE, &x, 1));
		NOT(BLOBIO_EHANDLE, blobio_get_darray(w, 0, 0, 1, &n, &n, BLOBIO_DOUBLE, &x, 1));
		NOT(BLOBIO_EHANDLE, blobio_get_darray_pio(w, 0, 0, 1, &n, BLOBIO_DOUBLE, &x));
		NOT(BLOBIO_EHANDLE, blobio_get_blob(w, 0, 0, 0, BLOBIO_DOUBLE, &x, 1));
	}
	/* paths, options, results */
	NOT(BLOBIO_EINVAL, blobio_create(NULL, NULL, &f));
	NOT(BLOBIO_EINVAL, blobio_create("", NULL, &f));
	NOT(BLOBIO_EINVAL, blobio_create(in_dir("e"), NULL, NULL));
	NOT(BLOBIO_EFAULT, blobio_create((const char *)16, NULL, &f));
	NOT(BLOBIO_EFAULT, blobio_create(in_dir("e"), NULL, (blobio_file **)16));
	NOT(BLOBIO_EINVAL, blobio_create(in_dir("e"), "nonsense", &f));
	NOT(BLOBIO_EINVAL, blobio_create(in_dir("e"), "layout=round", &f));
	NOT(BLOBIO_EINVAL, blobio_create(in_dir("e"), "colour=red", &f));
	SAYS("layout");
	NOT(BLOBIO_EINVAL, blobio_create(in_dir("e"), "subfiles=-1", &f));
	NOT(BLOBIO_EINVAL, blobio_create(in_dir("e"), "buffer=1K", &f));
	SAYS("option buffer");
	if (!blobio_has_mpi()) {
		NOT(BLOBIO_ENOMPI, blobio_create_fcomm(0, in_dir("e"), "", &f));
		NOT(BLOBIO_ENOMPI, blobio_append_fcomm(0, in_dir("e"), "", &f));
		NOT(BLOBIO_ENOMPI, blobio_open_fcomm(0, in_dir("e"), "", &f));
	}
	NOT(BLOBIO_ENOTFOUND, blobio_open(in_dir("nothing"), NULL, &f));
	if (f != NULL)
		FAIL("a handle although open failed");
	NOT(BLOBIO_EINVAL, blobio_open(in_dir("nothing"), "memory=1", &f));
	SAYS("option memory");
	NOT(BLOBIO_ENOTFOUND, blobio_convert(in_dir("nothing"), in_dir("out"), NULL));
	NOT(BLOBIO_EINVAL, blobio_convert(in_dir("a"), in_dir("out"), "format=zip"));
	NOT(BLOBIO_EINVAL, blobio_convert(NULL, in_dir("out"), NULL));
	NOT(BLOBIO_EINVAL, blobio_check(NULL, NULL, NULL, NULL, NULL));
	int64_t found[3] = {-1, -1, -1};
	NOT(BLOBIO_ENOTFOUND, blobio_check(in_dir("nothing"), NULL, NULL, NULL, found));
	SAYS("nothing");
	EQ(found[2], 0);
	char no_text[100];
	NOT(BLOBIO_ENOTFOUND, blobio_check_text(in_dir("no/such/dir"), NULL, no_text, sizeof no_text, found));
	NOT(BLOBIO_EEXIST, blobio_fail(BLOBIO_EEXIST, "a text"));
	SAYS("a text");
	NOT(BLOBIO_EINVAL, blobio_check_text(in_dir("a"), NULL, NULL, 10, NULL));

	/* definitions */
	OK(blobio_create(in_dir("e"), NULL, &f));
	NOT(BLOBIO_EINVAL, blobio_def_dim(f, NULL, 1, &id));
	NOT(BLOBIO_EINVAL, blobio_def_dim(f, "", 1, &id));
	NOT(BLOBIO_EINVAL, blobio_def_dim(f, "x", -1, &id));
	OK(blobio_def_dim(f, "x", 4, &id));
	NOT(BLOBIO_EINVAL, blobio_def_dim(f, "x", 4, &id));
	NOT(BLOBIO_EINVAL, blobio_def_var(f, "v", 0, 1, &id, 0, &id));
	NOT(BLOBIO_EINVAL, blobio_def_var(f, "v2", BLOBIO_INT, -1, &id, 0, &id));
	NOT(BLOBIO_EINVAL, blobio_def_var(f, "v3", BLOBIO_INT, 1, NULL, 0, &id));
	int none = 9;
	NOT(BLOBIO_EINVAL, blobio_def_var(f, "v4", BLOBIO_INT, 1, &none, 0, &id));
	NOT(BLOBIO_EINVAL, blobio_def_var(f, "v5", BLOBIO_INT, 1, &id, 1, &id));
	NOT(BLOBIO_EINVAL, blobio_put_att_text(f, 3, "a", 1, "x"));
	NOT(BLOBIO_EINVAL, blobio_put_att(f, -1, "a", BLOBIO_INT, 1, NULL));
	NOT(BLOBIO_EINVAL, blobio_put_att(f, -1, "a", 44, 1, &x));
	int64_t off[1] = {3}, len[1] = {2};
	NOT(BLOBIO_EINVAL, blobio_def_decomp(f, 1, &id, 1, off, len, &id));
	NOT(BLOBIO_EINVAL, blobio_def_decomp(f, 0, NULL, 1, off, len, &id));
	OK(blobio_abort(f));
	NOT(BLOBIO_EHANDLE, blobio_abort(f));

	if (strcmp(blobio_strerror(BLOBIO_ECHECKSUM), "checksum mismatch") || strcmp(blobio_strerror(5), "unknown error code") ||
	    strcmp(blobio_strerror(-1000), "unknown error code") || strcmp(blobio_strerror(BLOBIO_ESTOPPED), "stopped by the callback") ||
	    strcmp(blobio_strerror(INT32_MIN), "unknown error code"))
		FAIL("strerror");
	SAME(blobio_version(), BLOBIO_VERSION);
	EQ(blobio_abi(), BLOBIO_ABI);
}

static int on_finding(void *user, const blobio_finding *found) {
	int *calls = user;
	++*calls;
	if (found->severity < 0 || found->severity > 2 || !found->line || !*found->line || !found->message)
		FAIL("finding: severity %d", found->severity);
	return found->severity == 2; /* stops at the first error */
}

/* Each value of verify= must detect a changed byte in its reads. The last 8 bytes of the file hold name in the last record. */
static void verified(void) {
	char file[4200], got[8];
	snprintf(file, sizeof file, "%s.0000", in_dir("variable"));
	FILE *raw = fopen(file, "r+b");
	if (!raw || fseek(raw, -7, SEEK_END) || fputc('E', raw) != 'E' || fclose(raw)) {
		FAIL("change %s", file);
		return;
	}
	const struct {
		const char *options;
		int part, whole;
	} all[] = {
		{NULL, BLOBIO_ECHECKSUM, BLOBIO_ECHECKSUM},
		{"verify=whole", BLOBIO_OK, BLOBIO_ECHECKSUM},
		{"verify=once", BLOBIO_ECHECKSUM, BLOBIO_ECHECKSUM},
		{"verify=always", BLOBIO_ECHECKSUM, BLOBIO_ECHECKSUM},
		{"verify=never", BLOBIO_OK, BLOBIO_OK},
	};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
		blobio_file *f;
		int id;
		int64_t start[2] = {RECORDS - 1, 0}, part[2] = {1, 1}, whole[2] = {1, 8};
		OK(blobio_open(in_dir("variable"), all[k].options, &f));
		OK(blobio_inq_varid(f, "name", &id));
		EQ(blobio_get_vara(f, id, start, part, BLOBIO_CHAR, got, 1), all[k].part);
		EQ(blobio_get_vara(f, id, start, whole, BLOBIO_CHAR, got, 8), all[k].whole);
		OK(blobio_close(f));
	}
	blobio_file *f;
	NOT(BLOBIO_EINVAL, blobio_open(in_dir("variable"), "verify=yes", &f));
}

/* The error for a truncated file has the file's name and the offset. */
static void damage(void) {
	blobio_file *f;
	char file[4200], text[64];
	int64_t counts[3];
	snprintf(file, sizeof file, "%s.0000", in_dir("variable"));
	if (truncate(file, 900) != 0)
		FAIL("truncate %s", file);
	int calls = 0;
	NOT(BLOBIO_ESTOPPED, blobio_check(in_dir("variable"), "quick=no", on_finding, &calls, counts));
	EQ(calls > 0, 1);
	OK(blobio_check(in_dir("variable"), "quick=yes", NULL, NULL, counts));
	EQ(counts[2] > 0, 1);
	NOT(BLOBIO_ESMALL, blobio_check_text(in_dir("variable"), NULL, text, sizeof text, counts));
	int rc = blobio_open(in_dir("variable"), NULL, &f);
	if (rc == BLOBIO_OK) {
		double all[RECORDS * N];
		rc = blobio_get_vara(f, 0, NULL, NULL, BLOBIO_DOUBLE, all, RECORDS * N);
		EQ(rc, BLOBIO_ETRUNCATED);
		OK(blobio_close(f));
	}
	EQ(rc, BLOBIO_ETRUNCATED);
	if (!strstr(blobio_last_error_file(), "variable.0000") || blobio_last_error_offset() < 0)
		FAIL("file %s offset %lld of %s", blobio_last_error_file(), (long long)blobio_last_error_offset(), blobio_last_error());
}

/* Each thread writes its own dataset, and all threads read one dataset. */
static blobio_file *common;

static void *thread(void *arg) {
	char name[32];
	blobio_file *f;
	ids v;
	snprintf(name, sizeof name, "thread%d", (int)(intptr_t)arg);
	char path[4200];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	OK(blobio_create(path, "durability=none", &f));
	define(f, &v);
	OK(blobio_enddef(f));
	put_fixed(f, &v);
	put_records(f, &v, 0, RECORDS);
	OK(blobio_close(f));
	if (*blobio_last_error())
		FAIL("the error of another thread");
	float all[RECORDS * N];
	for (int k = 0; k < 50; k++)
		OK(blobio_get_vara(common, v.cloud, NULL, NULL, BLOBIO_FLOAT, all, RECORDS * N));
	return NULL;
}

static void threads(void) {
	pthread_t t[4];
	OK(blobio_open(in_dir("process"), NULL, &common));
	for (int k = 0; k < 4; k++)
		pthread_create(&t[k], NULL, thread, (void *)(intptr_t)k);
	for (int k = 0; k < 4; k++)
		pthread_join(t[k], NULL);
	OK(blobio_close(common));
}

/* A call in a child of fork returns an error and does not hang. The parent can continue. */
static void forked(void) {
	blobio_file *f;
	OK(blobio_open(in_dir("process"), NULL, &f));
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		blobio_file *g;
		int bad = blobio_close(f) != BLOBIO_EFORKED || blobio_open(in_dir("process"), NULL, &g) != BLOBIO_EFORKED ||
		          !strstr(blobio_last_error(), "fork") || blobio_last_error_code() != BLOBIO_EFORKED;
		_exit(bad);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	EQ(status, 0);
	OK(blobio_close(f));
}

int main(int argc, char **argv) {
	if (argc != 2)
		return 2;
	dir = argv[1];
	bad_calls();
	round_trip("variable", NULL, BLOBIO_VARIABLE_CENTRIC);
	round_trip("process", "layout=process", BLOBIO_PROCESS_CENTRIC);
	round_trip("packed", "layout=process compress=auto", BLOBIO_PROCESS_CENTRIC);
	lend();
	commits("subfiles=1", BLOBIO_VARIABLE_CENTRIC);
	adds("subfiles=1", BLOBIO_VARIABLE_CENTRIC);
	commits("layout=process", BLOBIO_PROCESS_CENTRIC);
	adds("layout=process", BLOBIO_PROCESS_CENTRIC);
	commits("layout=process records=4", BLOBIO_PROCESS_CENTRIC);
	commits("layout=process compress=auto", BLOBIO_PROCESS_CENTRIC);
	adds("layout=process compress=auto", BLOBIO_PROCESS_CENTRIC);
	pio();
	threads();
	forked();
	verified();
	damage();
	printf("%d failures\n", failures);
	return failures != 0;
}
