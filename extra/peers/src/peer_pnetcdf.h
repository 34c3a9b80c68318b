/* Shared by both PnetCDF peers: errors, attributes. */
#ifndef PEER_PNETCDF_H
#define PEER_PNETCDF_H

#include "job.h"

#include <pnetcdf.h>

#define CHECK(call)                                                                                       \
	do {                                                                                              \
		int err_ = (call);                                                                        \
		if (err_ != NC_NOERR) die("%s:%d: %s", __FILE__, __LINE__, ncmpi_strerror(err_));         \
	} while (0)

static inline void put_atts(int nc, int var, int n, const Att *a)
{
	for (int i = 0; i < n; i++) {
		if (a[i].type == T_CHAR)
			CHECK(ncmpi_put_att_text(nc, var, a[i].name, a[i].n, a[i].value));
		else
			CHECK(ncmpi_put_att(nc, var, a[i].name, a[i].type, a[i].n, a[i].value));
	}
}

static inline void put_ints(int nc, int var, const char *name, int n, const int *v)
{
	CHECK(ncmpi_put_att_int(nc, var, name, NC_INT, n, v));
}

static inline void create(Job *job, const char *path, MPI_Info info, int *nc)
{
	int old;
	/* no gaps: the last release needs only the first hint, older ones all three */
	MPI_Info_set(info, "nc_var_align_size", "1");
	MPI_Info_set(info, "nc_header_align_size", "1");
	MPI_Info_set(info, "nc_record_align_size", "1");
	CHECK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, info, nc));
	next_phase(job, P_OPEN);
	CHECK(ncmpi_set_fill(*nc, NC_NOFILL, &old));
}

static inline void flush_all(Job *job, int nc)
{
	next_phase(job, P_POST);
	CHECK(ncmpi_wait_all(nc, NC_REQ_ALL, NULL, NULL));
	next_phase(job, P_FLUSH);
}

static inline void close_all(Job *job, int nc)
{
	if (job->sync) CHECK(ncmpi_sync(nc));
	CHECK(ncmpi_close(nc));
	next_phase(job, P_CLOSE);
}

#endif
