/* Process-centric blobs by HDF5: every put is kept; at close each rank packs what
 * it has, rank 0 writes header_blob, and all together write data_blob with one
 * collective H5Dwrite. */
#include "job.h"

#include <stdint.h>
#include <string.h>

#include <hdf5.h>

#define CHECK(call)                                                        \
	do {                                                               \
		if ((call) < 0) die("%s:%d: HDF5 failed", __FILE__, __LINE__); \
	} while (0)

/* --- the header: CDF-5 in the order of the host, each begin 0 --- */

static char *header;
static size_t header_len, header_cap;

static void add(const void *b, size_t n)
{
	if (header_len + n + 4 > header_cap) {
		header_cap = 2 * (header_cap + n) + (1 << 16);
		header = realloc(header, header_cap);
		if (!header) die("out of memory");
	}
	memcpy(header + header_len, b, n);
	header_len += n;
	while (header_len % 4) header[header_len++] = 0;
}

static void add32(int32_t v) { add(&v, 4); }
static void add64(int64_t v) { add(&v, 8); }

static void add_name(const char *s)
{
	add64((int64_t)strlen(s));
	add(s, strlen(s));
}

static void add_list(int tag, int n)
{
	add32(n ? tag : 0);
	add64(n);
}

static void add_att(const char *name, int type, i64 n, const void *value)
{
	add_name(name);
	add32(type);
	add64(n);
	add(value, (size_t)(n * size_of(type)));
}

static void add_atts(int n, const Att *a)
{
	for (int i = 0; i < n; i++) add_att(a[i].name, a[i].type, a[i].n, a[i].value);
}

static void add_dim(const char *name, i64 len)
{
	add_name(name);
	add64(len);
}

static void add_dim_ids(int n, const int *ids)
{
	add64(n);
	for (int i = 0; i < n; i++) add64(ids[i]);
}

/* elements of a record */
static void add_type(int type, i64 elements)
{
	add32(type);
	add64((elements * size_of(type) + 3) / 4 * 4);
	add64(0);
}

enum { TAG_DIM = 10, TAG_VAR = 11, TAG_ATT = 12 };

static void make_header(const Job *job)
{
	int nd = job->nmaps, blobs = job->ndims, one = 1;
	char name[64];
	header_len = 0;
	add("CDF\5", 4);
	add64(job->records);
	add_list(TAG_DIM, job->ndims + 1 + 2 * nd);
	for (int i = 0; i < job->ndims; i++) add_dim(job->dims[i].name, job->dims[i].len);
	add_dim("nblobs", job->ranks);
	for (int k = 0; k < nd; k++) {
		snprintf(name, sizeof name, "D%d.nelems", k + 1);
		add_dim(name, at_least_1(job->maps[k].nelems));
	}
	for (int k = 0; k < nd; k++) {
		snprintf(name, sizeof name, "D%d.max_nreqs", k + 1);
		add_dim(name, at_least_1(job->maps[k].max_nreqs));
	}
	add_list(TAG_ATT, job->natts + 3);
	add_att("global_nprocs", T_INT, 1, &job->ranks);
	add_att("num_decompositions", T_INT, 1, &nd);
	add_att("num_subfiles", T_INT, 1, &one);
	add_atts(job->natts, job->atts);
	add_list(TAG_VAR, nd * M_VARS + job->nvars);
	for (int k = 0; k < nd; k++)
		for (int m = 0; m < M_VARS; m++) {
			int shape[2] = {blobs, blobs + 1 + nd + k}, wide = m >= M_OFFSETS;
			snprintf(name, sizeof name, "D%d.%s", k + 1, map_var_name[m]);
			add_name(name);
			add_dim_ids(1 + wide, shape);
			add_list(TAG_ATT, m == M_NREQS ? 2 : 1);
			add_att("description", T_CHAR, (i64)strlen(map_var_description[m]), map_var_description[m]);
			if (m == M_NREQS) add_att("global_dimids", T_INT, job->maps[k].ndims, job->maps[k].dims);
			add_type(map_var_type(m), job->ranks * (wide ? at_least_1(job->maps[k].max_nreqs) : 1));
		}
	for (int i = 0; i < job->nvars; i++) {
		const Var *v = &job->vars[i];
		add_name(v->name);
		if (v->map) {
			int shape[2], r = 0;
			if (v->record) shape[r++] = v->dims[0];
			shape[r++] = blobs + v->map;
			add_dim_ids(r, shape);
			add_list(TAG_ATT, v->natts + 2);
			add_att("decomposition_ID", T_INT, 1, &v->map);
			add_att("global_dimids", T_INT, v->ndims, v->dims);
		} else {
			add_dim_ids(v->ndims, v->dims);
			add_list(TAG_ATT, v->natts);
		}
		add_atts(v->natts, v->atts);
		add_type(v->type, v->map ? at_least_1(job->maps[v->map - 1].nelems) : v->whole);
	}
}

/* --- puts, kept until close --- */

typedef struct {
	char *data;
	size_t bytes;
} Kept;

static Kept keep(int type, int mem, i64 n, const void *from)
{
	Kept k = {NULL, (size_t)(n * size_of(type))};
	k.data = get(k.bytes);
	if (type == mem)
		memcpy(k.data, from, k.bytes);
	else if (type == T_FLOAT && mem == T_DOUBLE)
		for (i64 i = 0; i < n; i++) ((float *)k.data)[i] = (float)((const double *)from)[i];
	else if (type == T_INT && mem == T_INT64)
		for (i64 i = 0; i < n; i++) ((int *)k.data)[i] = (int)((const i64 *)from)[i];
	else
		die("no conversion of type %d to %d", mem, type);
	return k;
}

static void run(Job *job, const char *path, MPI_Info info)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file, space, data, head, xfer, part, own;
	CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, info));
	CHECK(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
	CHECK(H5Pset_coll_metadata_write(access, 1));
	CHECK(file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access));
	next_phase(job, P_OPEN);

	/* in the order of the definitions; the puts come record by record */
	int nd = job->nmaps, first = nd * M_VARS, nk = first;
	int *place = get(sizeof(int) * (size_t)job->nvars);
	for (int i = 0; i < job->nvars; i++) {
		place[i] = nk;
		nk += (int)job->vars[i].records;
	}
	Kept *kept = calloc((size_t)nk, sizeof(Kept));
	if (!kept) die("out of memory");
	for (int k = 0; k < nd; k++) {
		Map *m = &job->maps[k];
		const i64 *from[M_VARS] = {&m->nreqs, &m->start, &m->count, m->offsets, m->lengths};
		for (int j = 0; j < M_VARS; j++) kept[k * M_VARS + j] = keep(map_var_type(j), T_INT64, j < M_OFFSETS ? 1 : m->nreqs, from[j]);
	}
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		if (!v->record && v->count) kept[place[i]] = keep(v->type, v->mem, v->count, v->data[0]);
	}
	for (i64 rec = 0; rec < job->records; rec++)
		for (int i = 0; i < job->nvars; i++) {
			Var *v = &job->vars[i];
			if (v->record && v->count) kept[place[i] + rec] = keep(v->type, v->mem, v->count, v->data[rec]);
		}
	next_phase(job, P_POST);

	i64 bytes = 0, start = 0, all;
	for (int i = 0; i < nk; i++) bytes += (i64)kept[i].bytes;
	char *packed = get((size_t)bytes), *to = packed;
	for (int i = 0; i < nk; i++) {
		if (kept[i].data == NULL) continue;
		memcpy(to, kept[i].data, kept[i].bytes);
		to += kept[i].bytes;
		free(kept[i].data);
	}
	MPI_Exscan(&bytes, &start, 1, MPI_LONG_LONG_INT, MPI_SUM, MPI_COMM_WORLD);
	if (job->rank == 0) start = 0;
	MPI_Allreduce(&bytes, &all, 1, MPI_LONG_LONG_INT, MPI_SUM, MPI_COMM_WORLD);
	make_header(job);

	hid_t create = H5Pcreate(H5P_DATASET_CREATE);
	CHECK(H5Pset_fill_time(create, H5D_FILL_TIME_NEVER));
	CHECK(H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY));
	hsize_t len = header_len;
	CHECK(space = H5Screate_simple(1, &len, NULL));
	CHECK(head = H5Dcreate2(file, "header_blob", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, create, H5P_DEFAULT));
	CHECK(H5Sclose(space));
	len = (hsize_t)all;
	CHECK(space = H5Screate_simple(1, &len, NULL));
	CHECK(data = H5Dcreate2(file, "data_blob", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, create, H5P_DEFAULT));
	if (job->rank == 0) CHECK(H5Dwrite(head, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, header));
	CHECK(xfer = H5Pcreate(H5P_DATASET_XFER));
	CHECK(H5Pset_dxpl_mpio(xfer, H5FD_MPIO_COLLECTIVE));
	hsize_t off = (hsize_t)start, n = (hsize_t)bytes;
	part = H5Scopy(space);
	CHECK(H5Sselect_hyperslab(part, H5S_SELECT_SET, &off, NULL, &n, NULL));
	CHECK(own = H5Screate_simple(1, &n, NULL));
	CHECK(H5Dwrite(data, H5T_NATIVE_UCHAR, own, part, xfer, packed));
	next_phase(job, P_FLUSH);

	CHECK(H5Sclose(own));
	CHECK(H5Sclose(part));
	CHECK(H5Sclose(space));
	CHECK(H5Pclose(xfer));
	CHECK(H5Pclose(create));
	CHECK(H5Dclose(head));
	CHECK(H5Dclose(data));
	if (job->sync) CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
	CHECK(H5Pclose(access));
	CHECK(H5Fclose(file));
	free(packed);
	free(kept);
	free(place);
	next_phase(job, P_CLOSE);
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

int main(int argc, char **argv)
{
	return peer_main(argc, argv, "HDF5 " TEXT(H5_VERS_MAJOR) "." TEXT(H5_VERS_MINOR) "." TEXT(H5_VERS_RELEASE), run);
}
