/* Checks the differences with PIO_NCAR. Argument: an empty directory. */
#define PIO_NCAR
#include "pio.h"

static int failures, rank, ranks;

#define IS(want, call)                                                                                                 \
	do {                                                                                                               \
		int is_rc = (call);                                                                                            \
		if (is_rc != (want))                                                                                           \
			failures++, printf("%s:%d: rank %d: %s: %d, want %d\n", __FILE__, __LINE__, rank, #call, is_rc, (int)(want)); \
	} while (0)
#define OK(call) IS(PIO_NOERR, call)

int main(int argc, char **argv) {
	int ios, nc, t, x, rec, fixed, type = PIO_IOTYPE_PNETCDF, none = 42, d, back, gdims[1];
	char name[4096], text[PIO_MAX_NAME + 1];
	MPI_Init(&argc, &argv);
	if (argc != 2)
		return 2;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(name, sizeof name, "%s/ncar", argv[1]);
	OK(PIOc_set_iosystem_error_handling(PIO_DEFAULT, PIO_RETURN_ERROR, NULL));
	OK(PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 1, 0, PIO_REARR_BOX, &ios));
	OK(PIOc_strerror(PIO_EBADID, text));
	IS(0, strcmp(text, "NetCDF: Not a valid ID"));

	IS(PIO_ENOTBUILT, nc_def_iosystem(MPI_COMM_WORLD, 1, 1, 0, PIO_REARR_BOX, &d));
	IS(PIO_ENOTBUILT, nc_put_vard_float(1, 1, 1, 0, NULL));

	IS(PIO_EINVAL, PIOc_createfile(ios, &nc, &none, name, PIO_CLOBBER));
	IS(PIO_EINVAL, PIOc_openfile(ios, &nc, &none, name, 0));
	IS(PIO_EINVAL, PIOc_openfile2(ios, &nc, &none, name, 0));
	OK(PIOc_create(ios, name, PIO_CLOBBER, &nc));
	OK(PIOc_closefile(nc));
	OK(PIOc_open(ios, name, 0, &nc));
	OK(PIOc_closefile(nc));

	OK(PIOc_createfile(ios, &nc, &type, name, PIO_CLOBBER));
	OK(PIOc_def_dim(nc, "t", PIO_UNLIMITED, &t));
	OK(PIOc_def_dim(nc, "x", ranks + 1, &x));
	int tx[] = {t, x}, ids[] = {0, 1}, frames[] = {0, 0}, fill = -5, other = 7;
	OK(PIOc_def_var(nc, "rec", PIO_INT, 2, tx, NULL));
	OK(PIOc_def_var(nc, "fixed", PIO_INT, 1, &x, &fixed));
	OK(PIOc_inq_varid(nc, "rec", &rec));
	OK(PIOc_def_var_fill(nc, rec, PIO_FILL, &fill));
	OK(PIOc_enddef(nc));
	IS(PIO_ENOTVAR, PIOc_setframe(nc, -1, 0));
	IS(PIO_ENOTVAR, PIOc_advanceframe(nc, PIO_MAX_VARS));

	/* each rank has the offset after its own elements; the last rank's offset wraps around, from 1 and from 0 */
	gdims[0] = ranks + 1;
	PIO_Offset map[1] = {rank == ranks - 1 ? ranks + 2 : rank + 2}, from0[1] = {map[0] - 1}, hole[1] = {ranks + 1};
	int data[2] = {rank, rank}, got[1] = {-1};
	OK(PIOc_InitDecomp(ios, PIO_INT, 1, gdims, 1, map, &d, NULL, NULL, NULL));
	char decomp[sizeof name + 4];
	snprintf(decomp, sizeof decomp, "%s.map", name);
	OK(PIOc_write_nc_decomp(ios, decomp, PIO_CLOBBER, d, NULL, NULL, 0));
	OK(PIOc_open(ios, decomp, 0, &back));
	OK(PIOc_get_att_text(back, PIO_GLOBAL, "PIO_library_version", text));
	OK(PIOc_closefile(back));
	OK(PIOc_freedecomp(ios, d));
	OK(PIOc_init_decomp(ios, PIO_INT, 1, gdims, 1, from0, &d, PIO_REARR_BOX, NULL, NULL));
	OK(PIOc_setframe(nc, rec, 0));
	IS(PIO_EINVAL, PIOc_write_darray(nc, rec, d, 1, data, &other));
	OK(PIOc_write_darray(nc, rec, d, 1, data, &fill));
	OK(PIOc_write_darray(nc, fixed, d, 1, data, &other)); /* fixed has no fill value of its own */
	IS(PIO_EVARDIMMISMATCH, PIOc_write_darray_multi(nc, ids, d, 2, 1, data, frames, NULL, false));
	IS(PIO_EINVAL, PIOc_write_darray_multi(nc, ids, d, 0, 1, data, frames, NULL, false));
	int beyond = PIO_MAX_VARS + 1;
	IS(PIO_ENOTVAR, PIOc_write_darray_multi(nc, &beyond, d, 1, 1, data, frames, NULL, false));
	OK(PIOc_write_darray_multi(nc, ids, d, 1, 1, data, frames, NULL, true));
	OK(PIOc_InitDecomp_ReadOnly(ios, PIO_INT, 1, gdims, 1, hole, &back, NULL, NULL, NULL));
	OK(PIOc_read_darray(nc, rec, back, 1, got)); /* the element has no owner; the last rank wrote the first element */
	IS(fill, got[0]);
	PIO_Offset first[2] = {0, 0};
	OK(PIOc_get_var1_int(nc, rec, first, got));
	IS(ranks - 1, got[0]);
	OK(PIOc_closefile(nc));
	OK(PIOc_openfile(ios, &nc, &type, name, PIO_WRITE));
	OK(PIOc_redef(nc));
	IS(PIO_EINDEFINE, PIOc_redef(nc));
	OK(PIOc_closefile(nc));
	type = PIO_IOTYPE_NETCDF4P;
	OK(PIOc_openfile(ios, &nc, &type, name, PIO_WRITE));
	OK(PIOc_redef(nc));
	OK(PIOc_redef(nc));
	OK(PIOc_enddef(nc));
	IS(PIO_ENOTINDEFINE, PIOc_enddef(nc));
	OK(PIOc_closefile(nc));
	OK(PIOc_openfile(ios, &nc, &type, name, 0));
	IS(PIO_ENOTVAR, PIOc_def_var_deflate(nc, 77, 1, 1, 1));
	IS(PIO_EPERM, PIOc_def_var_deflate(nc, 0, 1, 1, 1));
	OK(PIOc_closefile(nc));
	OK(PIOc_free_iosystem(ios));
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return failures != 0;
}
