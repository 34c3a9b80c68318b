/* Blobs by ADIOS2's BP5, as Scorpio uses it: each variable is a local array of each process, put in its memory layout. By default all
 * records are in one step, which keeps copies until it ends; with the hint step=record each record is a step of its own, to which the
 * arrays are lent. Other hints are parameters of the engine. */
#include "job.h"

#include <string.h>

#include <adios2_c.h>

#define CHECK(call)                                                                       \
	do {                                                                              \
		adios2_error err_ = (call);                                               \
		if (err_ != adios2_error_none) die("%s:%d: ADIOS2 error %d", __FILE__, __LINE__, (int)err_); \
	} while (0)

static void *checked(void *p, int line, const char *call)
{
	if (!p) die("%s:%d: %s", __FILE__, line, call);
	return p;
}

#define made(call) checked(call, __LINE__, #call)

static adios2_type kind(int type)
{
	switch (type) {
	case T_BYTE: return adios2_type_int8_t;
	case T_CHAR: return adios2_type_uint8_t;
	case T_SHORT: return adios2_type_int16_t;
	case T_INT: return adios2_type_int32_t;
	case T_FLOAT: return adios2_type_float;
	case T_DOUBLE: return adios2_type_double;
	case T_INT64: return adios2_type_int64_t;
	}
	die("type %d is not known", type);
	return adios2_type_unknown;
}

static void put_atts(adios2_io *io, const char *of, int n, const Att *a)
{
	for (int i = 0; i < n; i++) {
		char name[512], text[4096];
		snprintf(name, sizeof name, "%s/%s", of, a[i].name);
		if (a[i].type == T_CHAR) {
			snprintf(text, sizeof text, "%.*s", (int)a[i].n, (const char *)a[i].value);
			made(adios2_define_attribute(io, name, adios2_type_string, text));
		} else if (a[i].n > 0) {
			made(adios2_define_attribute_array(io, name, kind(a[i].type), a[i].value, (size_t)a[i].n));
		}
	}
}

static void put_ints(adios2_io *io, const char *of, const char *what, int n, const int *v)
{
	char name[512];
	if (n == 0) return;
	snprintf(name, sizeof name, "%s/%s", of, what);
	made(adios2_define_attribute_array(io, name, adios2_type_int32_t, v, (size_t)n));
}

static adios2_variable *define(adios2_io *io, const char *name, int type, i64 n)
{
	size_t count = (size_t)at_least_1(n);
	return made(adios2_define_variable(io, name, kind(type), 1, NULL, NULL, &count, adios2_constant_dims_true));
}

/* A record whose type in memory differs from the type in the file is put as a copy. */
static void put(adios2_engine *e, adios2_variable *to, const Var *v, i64 rec, adios2_mode mode)
{
	if (v->count == 0) return;
	if (v->type == v->mem) {
		CHECK(adios2_put(e, to, v->data[rec], mode));
		return;
	}
	if (v->type != T_FLOAT || v->mem != T_DOUBLE) die("no conversion of type %d to %d", v->mem, v->type);
	float *b = get((size_t)v->count * sizeof *b);
	for (i64 i = 0; i < v->count; i++) b[i] = (float)((const double *)v->data[rec])[i];
	CHECK(adios2_put(e, to, b, adios2_mode_sync));
	free(b);
}

static void run(Job *job, const char *path, MPI_Info info)
{
	adios2_adios *adios = made(adios2_init_mpi(MPI_COMM_WORLD));
	adios2_io *io = made(adios2_declare_io(adios, "peer"));
	adios2_step_status status;
	int hints, steps = 0;
	char name[256];
	CHECK(adios2_set_engine(io, "BP5"));
	MPI_Info_get_nkeys(info, &hints);
	for (int i = 0; i < hints; i++) {
		char key[MPI_MAX_INFO_KEY + 1], value[256];
		int there;
		MPI_Info_get_nthkey(info, i, key);
		MPI_Info_get(info, key, sizeof value - 1, value, &there);
		if (!strcmp(key, "step"))
			steps = !strcmp(value, "record");
		else
			CHECK(adios2_set_parameter(io, key, value));
	}
	adios2_engine *e = made(adios2_open(io, path, adios2_mode_write));
	CHECK(adios2_begin_step(e, adios2_step_mode_append, -1, &status));
	next_phase(job, P_OPEN);

	adios2_variable **ids = get(sizeof *ids * (size_t)job->nvars), **maps = get(sizeof *maps * (size_t)(2 * job->nmaps));
	put_ints(io, "", "global_nprocs", 1, &job->ranks);
	put_atts(io, "", job->natts, job->atts);
	for (int i = 0; i < job->ndims; i++) {
		snprintf(name, sizeof name, "dim/%s", job->dims[i].name);
		made(adios2_define_attribute(io, name, adios2_type_int64_t, &job->dims[i].len));
	}
	for (int k = 0; k < job->nmaps; k++) {
		snprintf(name, sizeof name, "D%d.offsets", k + 1);
		maps[2 * k] = define(io, name, T_INT64, job->maps[k].nreqs);
		put_ints(io, name, "global_dimids", job->maps[k].ndims, job->maps[k].dims);
		snprintf(name, sizeof name, "D%d.lengths", k + 1);
		maps[2 * k + 1] = define(io, name, T_INT64, job->maps[k].nreqs);
	}
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		ids[i] = define(io, v->name, v->type, v->count);
		put_ints(io, v->name, "decomposition_ID", 1, &v->map);
		put_ints(io, v->name, "global_dimids", v->ndims, v->dims);
		put_atts(io, v->name, v->natts, v->atts);
	}
	next_phase(job, P_DEFINE);

	for (int k = 0; k < job->nmaps; k++) {
		Map *m = &job->maps[k];
		if (m->nreqs == 0) continue;
		CHECK(adios2_put(e, maps[2 * k], m->offsets, adios2_mode_deferred));
		CHECK(adios2_put(e, maps[2 * k + 1], m->lengths, adios2_mode_deferred));
	}
	int kept = steps || job->distinct == 0 || job->distinct >= job->records; /* put data stay unchanged until the step ends */
	adios2_mode mode = kept ? adios2_mode_deferred : adios2_mode_sync;
	for (int i = 0; i < job->nvars; i++)
		if (!job->vars[i].record) put(e, ids[i], &job->vars[i], 0, adios2_mode_deferred);
	for (i64 rec = 0; rec < job->records; rec++) {
		if (steps && rec > 0) CHECK(adios2_begin_step(e, adios2_step_mode_append, -1, &status));
		for (int i = 0; i < job->nvars; i++)
			if (job->vars[i].record) put(e, ids[i], &job->vars[i], rec, mode);
		next_phase(job, P_POST);
		if (steps || rec + 1 == job->records) CHECK(adios2_end_step(e));
		next_phase(job, P_FLUSH);
	}
	CHECK(adios2_close(e));
	CHECK(adios2_finalize(adios));
	free(ids);
	free(maps);
	next_phase(job, P_CLOSE);
}

int main(int argc, char **argv) { return peer_main(argc, argv, "ADIOS2 " ADIOS2_VERSION_STR, run); }
