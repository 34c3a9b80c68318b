/* Variable-centric blobs by PnetCDF: one iput_vara for each variable and record,
 * five for each map, then wait_all. */
#include "peer_pnetcdf.h"

#include <string.h>

static void define(Job *job, int nc, int *map_ids, int *ids)
{
	int nd = job->nmaps, *dims = get(sizeof(int) * (size_t)(job->ndims + 1 + 2 * nd)), one = 1;
	char name[64];
	put_ints(nc, NC_GLOBAL, "global_nprocs", 1, &job->ranks);
	put_ints(nc, NC_GLOBAL, "num_decompositions", 1, &nd);
	put_ints(nc, NC_GLOBAL, "num_subfiles", 1, &one);
	put_atts(nc, NC_GLOBAL, job->natts, job->atts);
	int n = 0;
	for (int i = 0; i < job->ndims; i++, n++) CHECK(ncmpi_def_dim(nc, job->dims[i].name, job->dims[i].len ? job->dims[i].len : NC_UNLIMITED, &dims[n]));
	int blobs = n;
	CHECK(ncmpi_def_dim(nc, "nblobs", job->ranks, &dims[n++]));
	for (int k = 0; k < nd; k++) {
		snprintf(name, sizeof name, "D%d.nelems", k + 1);
		CHECK(ncmpi_def_dim(nc, name, at_least_1(job->maps[k].nelems), &dims[n++]));
	}
	for (int k = 0; k < nd; k++) {
		snprintf(name, sizeof name, "D%d.max_nreqs", k + 1);
		CHECK(ncmpi_def_dim(nc, name, at_least_1(job->maps[k].max_nreqs), &dims[n++]));
	}
	for (int k = 0; k < nd; k++)
		for (int m = 0; m < M_VARS; m++) {
			int shape[2] = {dims[blobs], dims[blobs + 1 + nd + k]}, *id = &map_ids[k * M_VARS + m];
			snprintf(name, sizeof name, "D%d.%s", k + 1, map_var_name[m]);
			CHECK(ncmpi_def_var(nc, name, map_var_type(m), m < M_OFFSETS ? 1 : 2, shape, id));
			CHECK(ncmpi_put_att_text(nc, *id, "description", (MPI_Offset)strlen(map_var_description[m]), map_var_description[m]));
			if (m == M_NREQS) put_ints(nc, *id, "global_dimids", job->maps[k].ndims, job->maps[k].dims);
		}
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		if (v->map) {
			int shape[2], r = 0;
			if (v->record) shape[r++] = dims[v->dims[0]];
			shape[r++] = dims[blobs + v->map];
			CHECK(ncmpi_def_var(nc, v->name, v->type, r, shape, &ids[i]));
			put_ints(nc, ids[i], "decomposition_ID", 1, &v->map);
			put_ints(nc, ids[i], "global_dimids", v->ndims, v->dims);
		} else {
			CHECK(ncmpi_def_var(nc, v->name, v->type, v->ndims, v->dims, &ids[i]));
		}
		put_atts(nc, ids[i], v->natts, v->atts);
	}
	free(dims);
	CHECK(ncmpi_enddef(nc));
	next_phase(job, P_DEFINE);
}

static void put_maps(Job *job, int nc, const int *ids)
{
	MPI_Offset start[2] = {job->rank, 0}, one = 1;
	for (int k = 0; k < job->nmaps; k++, ids += M_VARS) {
		Map *m = &job->maps[k];
		MPI_Offset count[2] = {1, m->nreqs};
		/* until the write PnetCDF may swap the bytes of lent data in place */
		i64 *lent = get(3 * sizeof(i64));
		lent[0] = m->nreqs;
		lent[1] = m->start;
		lent[2] = m->count;
		CHECK(ncmpi_iput_vara_longlong(nc, ids[M_NREQS], start, &one, &lent[0], NULL));
		CHECK(ncmpi_iput_vara_longlong(nc, ids[M_START], start, &one, &lent[1], NULL));
		CHECK(ncmpi_iput_vara_longlong(nc, ids[M_COUNT], start, &one, &lent[2], NULL));
		if (m->nreqs == 0) continue;
		CHECK(ncmpi_iput_vara_longlong(nc, ids[M_OFFSETS], start, count, m->offsets, NULL));
		CHECK(ncmpi_iput_vara_longlong(nc, ids[M_LENGTHS], start, count, m->lengths, NULL));
	}
}

static void put(Job *job, int nc, int id, const Var *v, i64 rec)
{
	MPI_Offset start[8] = {0}, count[8];
	int r = 0;
	if (v->count == 0) return;
	if (v->record) {
		start[0] = rec;
		count[r++] = 1;
	}
	if (v->map) {
		start[r] = job->maps[v->map - 1].start;
		count[r++] = v->count;
	} else
		for (; r < v->ndims; r++) count[r] = job->dims[v->dims[r]].len;
	CHECK(ncmpi_iput_vara(nc, id, start, count, v->data[rec], v->count, mpi_of(v->mem), NULL));
}

static void run(Job *job, const char *path, MPI_Info info)
{
	int nc, *map_ids = get(sizeof(int) * (size_t)(job->nmaps * M_VARS)), *ids = get(sizeof(int) * (size_t)job->nvars);
	create(job, path, info, &nc);
	define(job, nc, map_ids, ids);
	put_maps(job, nc, map_ids);
	for (int i = 0; i < job->nvars; i++)
		if (!job->vars[i].record) put(job, nc, ids[i], &job->vars[i], 0);
	for (i64 rec = 0; rec < job->records; rec++) {
		for (int i = 0; i < job->nvars; i++)
			if (job->vars[i].record) put(job, nc, ids[i], &job->vars[i], rec);
		if (rec + 1 == job->records || (job->flush > 0 && (rec + 1) % job->flush == 0)) flush_all(job, nc);
	}
	close_all(job, nc);
	free(map_ids);
	free(ids);
}

int main(int argc, char **argv) { return peer_main(argc, argv, "PnetCDF " PNETCDF_VERSION, run); }
