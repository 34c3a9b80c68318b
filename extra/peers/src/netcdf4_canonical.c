/* Canonical order by netCDF-4 (parallel HDF5): one nc_put_vara for each request,
 * since netCDF has no call for several. */
#include "job.h"

#include <string.h>

#include <netcdf.h>
#include <netcdf_meta.h>
#include <netcdf_par.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int err_ = (call);                                                                 \
		if (err_ != NC_NOERR) die("%s:%d: %s", __FILE__, __LINE__, nc_strerror(err_));     \
	} while (0)

static void put_atts(int nc, int var, int n, const Att *a)
{
	for (int i = 0; i < n; i++) CHECK(nc_put_att(nc, var, a[i].name, a[i].type, (size_t)a[i].n, a[i].value));
}

static void put_box(int nc, int id, const Var *v, const size_t *start, const size_t *count, const char *from)
{
	switch (v->mem) {
	case T_CHAR: CHECK(nc_put_vara_text(nc, id, start, count, from)); break;
	case T_INT: CHECK(nc_put_vara_int(nc, id, start, count, (const int *)from)); break;
	case T_INT64: CHECK(nc_put_vara_longlong(nc, id, start, count, (const i64 *)from)); break;
	case T_FLOAT: CHECK(nc_put_vara_float(nc, id, start, count, (const float *)from)); break;
	case T_DOUBLE: CHECK(nc_put_vara_double(nc, id, start, count, (const double *)from)); break;
	default: die("no put of type %d", v->mem);
	}
}

/* place converts n elements from a canonical offset to start and count; start[0] of a record variable stays. */
static void place(const Job *job, const Var *v, i64 offset, i64 n, size_t *start, size_t *count)
{
	for (int d = v->ndims - 1; d >= v->record; d--) {
		i64 len = job->dims[v->dims[d]].len;
		start[d] = (size_t)(offset % len);
		count[d] = 1;
		offset /= len;
	}
	if (v->record) count[0] = 1;
	if (v->ndims > v->record) count[v->ndims - 1] = (size_t)n;
}

static void put(Job *job, int nc, int id, const Var *v, i64 rec)
{
	size_t start[8] = {0}, count[8] = {0};
	if (v->record) {
		/* The unlimited dimension grows by calls that all ranks make: each puts its first element. */
		char none[8] = {0};
		if (v->count) {
			place(job, v, v->map ? job->maps[v->map - 1].offsets[0] : 0, 1, start, count);
		}
		start[0] = (size_t)rec;
		CHECK(nc_var_par_access(nc, id, NC_COLLECTIVE));
		put_box(nc, id, v, start, count, v->count ? v->data[rec] : none);
		CHECK(nc_var_par_access(nc, id, NC_INDEPENDENT));
	}
	if (v->count == 0) return;
	if (!v->map) {
		for (int d = 0; d < v->ndims; d++) count[d] = (size_t)job->dims[v->dims[d]].len;
		if (v->record) count[0] = 1;
		put_box(nc, id, v, start, count, v->data[rec]);
		return;
	}
	const Map *m = &job->maps[v->map - 1];
	const char *from = v->data[rec];
	for (i64 i = 0; i < m->nreqs; i++) {
		place(job, v, m->offsets[i], m->lengths[i], start, count);
		put_box(nc, id, v, start, count, from);
		from += m->lengths[i] * size_of(v->mem);
	}
}

static void run(Job *job, const char *path, MPI_Info info)
{
	int nc, old, id, *ids = get(sizeof(int) * (size_t)job->nvars);
	CHECK(nc_create_par(path, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, info, &nc));
	next_phase(job, P_OPEN);
	CHECK(nc_set_fill(nc, NC_NOFILL, &old));
	put_atts(nc, NC_GLOBAL, job->natts, job->atts);
	for (int i = 0; i < job->ndims; i++) CHECK(nc_def_dim(nc, job->dims[i].name, job->dims[i].len ? (size_t)job->dims[i].len : NC_UNLIMITED, &id));
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		CHECK(nc_def_var(nc, v->name, v->type, v->ndims, v->dims, &ids[i]));
		if (v->record) { /* a record is a chunk */
			size_t chunk[8] = {1};
			for (int d = 1; d < v->ndims; d++) chunk[d] = (size_t)job->dims[v->dims[d]].len;
			CHECK(nc_def_var_chunking(nc, ids[i], NC_CHUNKED, chunk));
		}
		put_atts(nc, ids[i], v->natts, v->atts);
	}
	CHECK(nc_enddef(nc));
	next_phase(job, P_DEFINE);
	for (int i = 0; i < job->nvars; i++)
		if (!job->vars[i].record) put(job, nc, ids[i], &job->vars[i], 0);
	for (i64 rec = 0; rec < job->records; rec++)
		for (int i = 0; i < job->nvars; i++)
			if (job->vars[i].record) put(job, nc, ids[i], &job->vars[i], rec);
	next_phase(job, P_FLUSH);
	if (job->sync) CHECK(nc_sync(nc));
	CHECK(nc_close(nc));
	next_phase(job, P_CLOSE);
	free(ids);
}

int main(int argc, char **argv) { return peer_main(argc, argv, "netCDF " NC_VERSION, run); }
