/* Canonical order by PnetCDF: one iput_varn for each variable and record, with a
 * start and a count for each request, then wait_all. */
#include "peer_pnetcdf.h"

/* Requests as starts and counts, one for each map, with and without the record. */
typedef struct {
	MPI_Offset **starts, **counts;
} Boxes;

/* A request lies in one row, so that all but the last of its counts are 1. */
static Boxes boxes(const Job *job, const Map *m, int record)
{
	int n = m->ndims + record;
	size_t q = (size_t)m->nreqs;
	Boxes b = {get(sizeof(MPI_Offset *) * q), get(sizeof(MPI_Offset *) * q)};
	MPI_Offset *all = get(2 * sizeof(MPI_Offset) * q * (size_t)n);
	for (size_t i = 0; i < q; i++, all += 2 * n) {
		MPI_Offset rest = m->offsets[i];
		b.starts[i] = all;
		b.counts[i] = all + n;
		for (int d = n - 1; d >= 0; d--) {
			i64 len = d < record ? 1 : job->dims[m->dims[d - record]].len;
			all[d] = d < record ? 0 : rest % len;
			all[n + d] = 1;
			rest /= len;
		}
		all[n + n - 1] = m->lengths[i];
	}
	return b;
}

static void put(Job *job, int nc, int id, const Var *v, i64 rec, const Boxes *b)
{
	if (v->count == 0) return;
	if (v->map) {
		const Map *m = &job->maps[v->map - 1];
		if (v->record)
			for (i64 i = 0; i < m->nreqs; i++) b->starts[i][0] = rec;
		CHECK(ncmpi_iput_varn(nc, id, (int)m->nreqs, b->starts, b->counts, v->data[rec], v->count, mpi_of(v->mem), NULL));
		return;
	}
	MPI_Offset start[8] = {0}, count[8];
	for (int d = 0; d < v->ndims; d++) count[d] = job->dims[v->dims[d]].len;
	if (v->record) {
		start[0] = rec;
		count[0] = 1;
	}
	CHECK(ncmpi_iput_vara(nc, id, start, count, v->data[rec], v->count, mpi_of(v->mem), NULL));
}

static void run(Job *job, const char *path, MPI_Info info)
{
	int nc, id, *ids = get(sizeof(int) * (size_t)job->nvars);
	create(job, path, info, &nc);
	put_atts(nc, NC_GLOBAL, job->natts, job->atts);
	for (int i = 0; i < job->ndims; i++) CHECK(ncmpi_def_dim(nc, job->dims[i].name, job->dims[i].len ? job->dims[i].len : NC_UNLIMITED, &id));
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		CHECK(ncmpi_def_var(nc, v->name, v->type, v->ndims, v->dims, &ids[i]));
		put_atts(nc, ids[i], v->natts, v->atts);
	}
	CHECK(ncmpi_enddef(nc));
	next_phase(job, P_DEFINE);

	Boxes *b = get(2 * sizeof(Boxes) * (size_t)job->nmaps);
	for (int k = 0; k < job->nmaps; k++) {
		b[2 * k] = boxes(job, &job->maps[k], 0);
		b[2 * k + 1] = boxes(job, &job->maps[k], 1);
	}
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		if (!v->record) put(job, nc, ids[i], v, 0, v->map ? &b[2 * (v->map - 1)] : NULL);
	}
	for (i64 rec = 0; rec < job->records; rec++) {
		for (int i = 0; i < job->nvars; i++) {
			Var *v = &job->vars[i];
			if (v->record) put(job, nc, ids[i], v, rec, v->map ? &b[2 * (v->map - 1) + 1] : NULL);
		}
		if (rec + 1 == job->records || (job->flush > 0 && (rec + 1) % job->flush == 0)) flush_all(job, nc);
	}
	close_all(job, nc);
}

int main(int argc, char **argv) { return peer_main(argc, argv, "PnetCDF " PNETCDF_VERSION, run); }
