/* Calls all functions of pio.h, with right and wrong arguments. Arguments: an empty directory, and optionally "abort", with
 * which an error ends the job. */
#include "pio.h"

#include <limits.h>

#include "blobio.h"

static int failures, rank, ranks, ios;
static const char *dir;

#define FAIL(...) (failures++, printf("%s:%d: rank %d: ", __FILE__, __LINE__, rank), printf(__VA_ARGS__), putchar('\n'), fflush(stdout))
#define OK(call)                                                                                                       \
	do {                                                                                                               \
		int ok_rc = (call);                                                                                            \
		if (ok_rc != PIO_NOERR)                                                                                        \
			FAIL("%s: %d %s", #call, ok_rc, blobio_last_error());                                                      \
	} while (0)
#define NOT(want, call)                                                                                                \
	do {                                                                                                               \
		int not_rc = (call);                                                                                           \
		if (not_rc != (want))                                                                                          \
			FAIL("%s: %d, want %d: %s", #call, not_rc, (want), blobio_last_error());                                   \
		else if (!*blobio_last_error())                                                                                \
			FAIL("%s: no text", #call);                                                                                \
	} while (0)
#define EQ(a, b)                                                                                                       \
	do {                                                                                                               \
		double eq_a = (double)(a), eq_b = (double)(b);                                                                 \
		if (eq_a != eq_b)                                                                                              \
			FAIL("%s is %.17g, want %.17g", #a, eq_a, eq_b);                                                           \
	} while (0)
#define SAME(a, b)                                                                                                     \
	do {                                                                                                               \
		if (strcmp(a, b))                                                                                              \
			FAIL("%s is \"%s\", want \"%s\"", #a, a, b);                                                               \
	} while (0)

static char *in_dir(const char *name) {
	static char buf[4][4096];
	static int k;
	k = (k + 1) % 4;
	snprintf(buf[k], sizeof buf[k], "%s/%s", dir, name);
	return buf[k];
}

static int iotype = PIO_IOTYPE_PNETCDF;

static int create(const char *name) {
	int nc = -1;
	OK(PIOc_createfile(ios, &nc, &iotype, in_dir(name), PIO_CLOBBER));
	return nc;
}

static int open_file(const char *name, int mode) {
	int nc = -1, t = iotype;
	OK(PIOc_openfile(ios, &nc, &t, in_dir(name), mode));
	return nc;
}

/* --- I/O systems */

static void systems(void) {
	int id, n, r, old;
	bool yes = false;
	OK(PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 1, 0, PIO_REARR_SUBSET, &id));
	OK(PIOc_get_numiotasks(id, &n));
	EQ(n, 1);
	OK(PIOc_iam_iotask(id, &yes));
	EQ(yes, rank == 0);
	OK(PIOc_iotask_rank(id, &r));
	EQ(r, rank == 0 ? 0 : -1);
	OK(PIOc_iosystem_is_active(id, &yes));
	EQ(yes, 1);
	OK(PIOc_set_iosystem_error_handling(id, PIO_BCAST_ERROR, &old));
	EQ(old, PIO_RETURN_ERROR);
	EQ(PIOc_Set_IOSystem_Error_Handling(id, PIO_REDUCE_ERROR), PIO_BCAST_ERROR);
	NOT(PIO_EINVAL, PIOc_set_iosystem_error_handling(id, 17, NULL));
	OK(PIOc_set_rearr_opts(id, PIO_REARR_COMM_COLL, PIO_REARR_COMM_FC_2D_DISABLE, true, true, PIO_REARR_COMM_UNLIMITED_PEND_REQ, false, false, 64));
	NOT(PIO_EINVAL, PIOc_set_rearr_opts(id, 7, 0, true, true, 1, true, true, 1));
	OK(PIOc_set_hint(id, "romio_cb_write", "enable"));
	OK(PIOc_set_hint(id, "blobio_pio", "process"));
	NOT(PIO_EINVAL, PIOc_set_hint(id, "blobio_pio", "sideways"));
	NOT(PIO_EINVAL, PIOc_set_hint(id, NULL, "x"));
	NOT(PIO_ENOTNC4, PIOc_set_chunk_cache(id, PIO_IOTYPE_NETCDF, 1, 1, 0.5f));
	NOT(PIO_ENOTNC4, PIOc_get_chunk_cache(id, PIO_IOTYPE_NETCDF, NULL, NULL, NULL));
	OK(PIOc_set_global_log_level(id, 0));
	OK(PIOc_finalize(id));
	NOT(PIO_EBADID, PIOc_finalize(id));
	NOT(PIO_EBADID, PIOc_free_iosystem(id));
	NOT(PIO_EBADID, PIOc_get_numiotasks(id, &n));
	OK(PIOc_iosystem_is_active(id, &yes));
	EQ(yes, 0);
	NOT(PIO_EINVAL, PIOc_Init_Intracomm(MPI_COMM_WORLD, 0, 1, 0, PIO_REARR_BOX, &id));
	NOT(PIO_EINVAL, PIOc_Init_Intracomm(MPI_COMM_WORLD, ranks + 1, 1, 0, PIO_REARR_BOX, &id));
	NOT(PIO_EINVAL, PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 0, -1, PIO_REARR_BOX, &id));
	NOT(PIO_EINVAL, PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 1, 0, PIO_REARR_BOX, rank == ranks - 1 ? NULL : &id));
	rearr_opt_t opts = {PIO_REARR_COMM_P2P, PIO_REARR_COMM_FC_2D_ENABLE, {true, false, 3}, {false, true, -1}};
	OK(PIOc_Init_Intracomm_from_F90((int)MPI_Comm_c2f(MPI_COMM_WORLD), 1, 1, 0, PIO_REARR_ANY, &opts, &id));
	OK(PIOc_free_iosystem(id));

	NOT(PIO_ENOTBUILT, PIOc_init_async(MPI_COMM_WORLD, 1, NULL, 1, NULL, NULL, NULL, NULL, PIO_REARR_BOX, &id));
	NOT(PIO_ENOTBUILT, PIOc_init_async_from_comms(MPI_COMM_WORLD, 1, NULL, MPI_COMM_WORLD, PIO_REARR_BOX, &id));
	NOT(PIO_ENOTBUILT, PIOc_init_intercomm(1, MPI_COMM_WORLD, NULL, MPI_COMM_WORLD, PIO_REARR_BOX, &id));
	NOT(PIO_ENOTBUILT, PIOc_Init_Intercomm_from_F90(1, 0, NULL, 0, PIO_REARR_BOX, &id));
	if (!strstr(blobio_last_error(), "PIOc_Init_Intracomm"))
		FAIL("text %s", blobio_last_error());

	for (int t = -1; t < 12; t++)
		EQ(PIOc_iotype_available(t), t >= 1 && t <= 9);
	OK(PIOc_set_blocksize(1024));
	NOT(PIO_EINVAL, PIOc_set_blocksize(0));
	PIO_Offset before = PIOc_set_buffer_size_limit(12345);
	EQ(before, 64 << 20);
	EQ(PIOc_set_buffer_size_limit(-1), 12345);
	EQ(PIOc_set_buffer_size_limit(before), 12345);
}

static void texts(void) {
	char text[PIO_MAX_NAME + 1];
	static const struct {
		int code;
		const char *begin;
	} want[] = {{0, "No error"}, {PIO_EBADIOTYPE, "Bad IO type"}, {PIO_ENOTVAR, "NetCDF: Variable not found"}, {-501, "Internal error, or a decomposition"},
	            {PIO_EBADID, "NetCDF: Not a valid ID"}, {PIO_ENOTNC3, "NetCDF: Attempting netcdf-3 operation on netcdf-4 file"}, {-255, "Number of variables is"},
	            {-12345, "Unknown Error: Unrecognized error code"}, {2, "No such file"}};
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		OK(PIOc_strerror(want[i].code, text, sizeof text));
		if (strncmp(text, want[i].begin, strlen(want[i].begin)))
			FAIL("text of %d is %s", want[i].code, text);
	}
	NOT(PIO_EINVAL, PIOc_strerror(0, NULL, 5));
	EQ(PIOc_get_version_major(), 2);
	EQ(PIOc_get_version_minor(), 0);
	EQ(PIOc_get_version_patch(), 1);
	int major, minor, patch;
	OK(PIOc_get_version(&major, &minor, &patch, text, sizeof text));
	EQ(major * 10000 + minor * 100 + patch, 20001);
	if (strncmp(text, "2.0.1", 5))
		FAIL("version %s", text);
	OK(PIOc_get_version_hash(text, sizeof text));
	NOT(PIO_EINVAL, PIOc_get_version_string(NULL, 1));
}

/* --- definitions */

static void definitions(void) {
	int nc = create("definitions"), t, x, c, v, s, n, m, a, u, id, dims[3], format;
	nc_type type;
	PIO_Offset len;
	char name[PIO_MAX_NAME + 1];
	OK(PIOc_def_dim(nc, "t", PIO_UNLIMITED, &t));
	OK(PIOc_def_dim(nc, "x", 7, &x));
	OK(PIOc_def_dim(nc, "c", 11, &c));
	NOT(PIO_ENAMEINUSE, PIOc_def_dim(nc, "x", 7, &id));
	NOT(PIO_EUNLIMIT, PIOc_def_dim(nc, "t2", PIO_UNLIMITED, &id));
	NOT(PIO_EINVAL, PIOc_def_dim(nc, NULL, 7, &id));
	int tx[] = {t, x}, tc[] = {t, c}, bad[] = {99};
	OK(PIOc_def_var(nc, "v", PIO_DOUBLE, 2, tx, &v));
	OK(PIOc_def_var(nc, "s", PIO_CHAR, 2, tc, &s));
	NOT(PIO_ENAMEINUSE, PIOc_def_var(nc, "v", PIO_DOUBLE, 2, tx, &id));
	NOT(PIO_EBADTYPE, PIOc_def_var(nc, "w", 77, 2, tx, &id));
	NOT(PIO_EBADDIM, PIOc_def_var(nc, "w", PIO_INT, 1, bad, &id));
	NOT(PIO_EBADID, PIOc_def_var(nc + 1000, "w", PIO_INT, 1, &x, &id));

	OK(PIOc_inq(nc, &n, &m, &a, &u));
	EQ(n * 1000 + m * 100 + a * 10 + u, 3200 + t);
	OK(PIOc_inq_ndims(nc, &n));
	EQ(n, 3);
	OK(PIOc_inq_nvars(nc, &n));
	EQ(n, 2);
	OK(PIOc_inq_natts(nc, &n));
	EQ(n, 0);
	OK(PIOc_inq_unlimdim(nc, &u));
	EQ(u, t);
	OK(PIOc_inq_unlimdims(nc, &n, &u));
	EQ(n * 10 + u, 10 + t);
	OK(PIOc_inq_format(nc, &format));
	EQ(format, 1);
	OK(PIOc_inq_dim(nc, x, name, &len));
	SAME(name, "x");
	EQ(len, 7);
	OK(PIOc_inq_dimid(nc, "c", &id));
	EQ(id, c);
	NOT(PIO_EBADDIM, PIOc_inq_dimid(nc, "none", &id));
	OK(PIOc_inq_dimname(nc, c, name));
	SAME(name, "c");
	OK(PIOc_inq_dimlen(nc, t, &len));
	EQ(len, 0);
	NOT(PIO_EBADDIM, PIOc_inq_dimlen(nc, 44, &len));
	OK(PIOc_rename_dim(nc, c, "characters"));
	OK(PIOc_inq_dimid(nc, "characters", &id));
	EQ(id, c);

	OK(PIOc_inq_var(nc, v, name, sizeof name, &type, &n, dims, &a));
	SAME(name, "v");
	EQ(type, PIO_DOUBLE);
	EQ(n, 2);
	EQ(dims[0] * 10 + dims[1], t * 10 + x);
	EQ(a, 0);
	NOT(PIO_EINVAL, PIOc_inq_varname(nc, v, name, 1));
	OK(PIOc_inq_varname(nc, s, name, sizeof name));
	SAME(name, "s");
	OK(PIOc_inq_vartype(nc, s, &type));
	EQ(type, PIO_CHAR);
	OK(PIOc_inq_varndims(nc, s, &n));
	EQ(n, 2);
	OK(PIOc_inq_vardimid(nc, s, dims));
	EQ(dims[1], c);
	OK(PIOc_inq_varnatts(nc, s, &a));
	EQ(a, 0);
	OK(PIOc_inq_varid(nc, "s", &id));
	EQ(id, s);
	NOT(PIO_ENOTVAR, PIOc_inq_varid(nc, "none", &id));
	NOT(PIO_ENOTVAR, PIOc_inq_vartype(nc, 50, &type));
	OK(PIOc_rename_var(nc, s, "text"));
	NOT(PIO_ENOTVAR, PIOc_inq_varid(nc, "s", &id));
	OK(PIOc_inq_type(nc, PIO_USHORT, name, &len));
	SAME(name, "ushort");
	EQ(len, 2);
	NOT(PIO_EBADTYPE, PIOc_inq_type(nc, 55, name, &len));

	char longname[PIO_MAX_NAME + 2];
	memset(longname, 'n', sizeof longname - 1);
	longname[PIO_MAX_NAME + 1] = 0;
	NOT(PIO_EINVAL, PIOc_def_dim(nc, longname, 7, &id));
	NOT(PIO_EINVAL, PIOc_def_var(nc, longname, PIO_INT, 2, tx, &id));
	NOT(PIO_EINVAL, PIOc_def_var(nc, "w", PIO_INT, 2, tx, NULL));
	NOT(PIO_EINVAL, PIOc_rename_var(nc, s, longname));
	NOT(PIO_EINVAL, PIOc_inq_varid(nc, longname, &id));
	NOT(PIO_EINVAL, PIOc_inq_att(nc, v, longname, &type, &len));
	NOT(PIO_EINVAL, PIOc_setframe(nc, -1, 0));
	NOT(PIO_EINVAL, PIOc_advanceframe(nc, PIO_MAX_VARS));
	NOT(PIO_ENOTVAR, PIOc_setframe(nc, 50, 0));
	NOT(PIO_EBADID, PIOc_setframe(nc + 1000, -1, 0));

	double fill = -1.5, got = 0;
	int off = 9, old;
	NOT(PIO_EINVAL, PIOc_def_var_fill(nc, v, 42, &fill));
	NOT(PIO_EINVAL, PIOc_def_var_fill(nc, v, 0, NULL));
	OK(PIOc_def_var_fill(nc, v, 1, NULL));
	OK(PIOc_inq_var_fill(nc, v, &off, &got));
	EQ(got, PIO_FILL_DOUBLE);
	OK(PIOc_def_var_fill(nc, v, 0, &fill));
	OK(PIOc_inq_var_fill(nc, v, &off, &got));
	EQ(off, 0);
	EQ(got, fill);
	OK(PIOc_set_fill(nc, PIO_NOFILL, &old));
	OK(PIOc_set_fill(nc, PIO_FILL, &old));
	EQ(old, PIO_NOFILL);
	NOT(PIO_EINVAL, PIOc_set_fill(nc, 5, &old));

	NOT(PIO_ENOTNC4, PIOc_def_var_deflate(nc, v, 1, 1, 1));
	NOT(PIO_ENOTNC4, PIOc_inq_var_deflate(nc, v, &n, &n, &n));
	NOT(PIO_ENOTNC4, PIOc_def_var_chunking(nc, v, 0, &len));
	NOT(PIO_ENOTNC4, PIOc_inq_var_chunking(nc, v, &n, &len));
	NOT(PIO_ENOTNC4, PIOc_def_var_endian(nc, v, 1));
	NOT(PIO_ENOTNC4, PIOc_inq_var_endian(nc, v, &n));
	NOT(PIO_ENOTNC4, PIOc_set_var_chunk_cache(nc, v, 1, 1, 0.5f));
	NOT(PIO_ENOTNC4, PIOc_get_var_chunk_cache(nc, v, &len, &len, NULL));
	NOT(PIO_ENOTNC4, PIOc_def_var_deflate(nc, 77, 1, 1, 1)); /* with an I/O type of netCDF-4 it would be PIO_ENOTVAR */

	OK(PIOc_enddef(nc));
	NOT(PIO_ENOTINDEFINE, PIOc_enddef(nc));
	NOT(PIO_ENOTINDEFINE, PIOc_def_dim(nc, "late", 3, &id));
	OK(PIOc_redef(nc));
	NOT(PIO_EINDEFINE, PIOc_redef(nc));
	OK(PIOc_def_dim(nc, "late", 3, &id));
	OK(PIOc_enddef(nc));
	EQ(PIOc_get_iosystem(nc), ios);
	EQ(PIOc_Set_File_Error_Handling(nc, PIO_BCAST_ERROR), PIO_RETURN_ERROR);
	NOT(PIO_EINVAL, PIOc_Set_File_Error_Handling(nc, 3));
	EQ(PIOc_File_is_Open(nc), 1);
	OK(PIOc_closefile(nc));
	EQ(PIOc_File_is_Open(nc), 0);
	NOT(PIO_EBADID, PIOc_closefile(nc));
	NOT(PIO_EBADID, PIOc_sync(nc));
	NOT(PIO_EBADID, PIOc_inq_ndims(nc, &n));
}

/* --- netCDF-4 storage settings: kept and returned */

static void storage(void) {
	int nc, dims[2], v, fixed, text, n, m, l, type = PIO_IOTYPE_NETCDF4P, classic = PIO_IOTYPE_PNETCDF;
	unsigned id[6], params[] = {3, 5}, got[2] = {0, 0};
	size_t many = 0;
	PIO_Offset sizes[] = {1, 3}, large[] = {1, 9}, negative[] = {-1, 1}, back[] = {0, 0}, size, slots;
	float preemption;
	OK(PIOc_get_chunk_cache(ios, type, &size, &slots, &preemption));
	EQ(size, 16 << 20);
	EQ(slots, 4133);
	EQ(preemption, 0.75);
	OK(PIOc_set_chunk_cache(ios, type, 1 << 20, 100, 0.5f));
	NOT(PIO_EINVAL, PIOc_set_chunk_cache(ios, type, 1 << 20, 100, 1.5f));
	NOT(PIO_ENOTNC4, PIOc_set_chunk_cache(ios, classic, 1, 1, 0.5f));
	NOT(PIO_EBADIOTYPE, PIOc_set_chunk_cache(ios, 77, 1, 1, 0.5f));

	OK(PIOc_createfile(ios, &nc, &type, in_dir("four"), PIO_CLOBBER));
	OK(PIOc_inq_format(nc, &n));
	EQ(n, 3);
	OK(PIOc_def_dim(nc, "t", PIO_UNLIMITED, &dims[0]));
	NOT(PIO_EUNLIMIT, PIOc_def_dim(nc, "u", PIO_UNLIMITED, &n));
	OK(PIOc_def_dim(nc, "x", 6, &dims[1]));
	OK(PIOc_def_var(nc, "rec", PIO_FLOAT, 2, dims, &v));
	OK(PIOc_def_var(nc, "fixed", PIO_UINT64, 1, &dims[1], &fixed));
	NOT(PIO_EBADTYPE, PIOc_def_var(nc, "text", PIO_STRING, 1, &dims[1], &text));

	OK(PIOc_inq_var_chunking(nc, v, &n, back));
	EQ(n, 0);
	EQ(back[0], 1);
	EQ(back[1], 6);
	OK(PIOc_inq_var_chunking(nc, fixed, &n, NULL));
	EQ(n, 1);
	NOT(PIO_EINVAL, PIOc_def_var_chunking(nc, v, 1, NULL));
	NOT(PIO_EBADCHUNK, PIOc_def_var_chunking(nc, v, 0, large));
	NOT(PIO_ERANGE, PIOc_def_var_chunking(nc, v, 0, negative));
	PIO_Offset zeros[2] = {0, 0}; // sizes of the library's choice
	OK(PIOc_def_var_chunking(nc, v, 0, zeros));
	OK(PIOc_inq_var_chunking(nc, v, NULL, back));
	EQ(back[0] * 10 + back[1], 16);
	OK(PIOc_def_var_chunking(nc, v, 0, sizes));
	OK(PIOc_inq_var_chunking(nc, v, NULL, back));
	EQ(back[1], 3);

	OK(PIOc_inq_var_deflate(nc, v, &n, &m, &l));
	EQ(n + m + l, 0);
	NOT(PIO_EINVAL, PIOc_def_var_deflate(nc, v, 0, 1, 10));
	OK(PIOc_def_var_deflate(nc, v, 1, 1, 4));
	OK(PIOc_inq_var_deflate(nc, v, &n, &m, &l));
	EQ(n * 100 + m * 10 + l, 114);
	OK(PIOc_inq_filter_avail(nc, 307));
	NOT(PIO_ENOFILTER, PIOc_inq_filter_avail(nc, 308));
	NOT(PIO_ENOFILTER, PIOc_def_var_filter(nc, v, 308, 2, params));
	NOT(PIO_EINVAL, PIOc_def_var_filter(nc, v, 307, 3, params)); // more parameters than inquiries return
	OK(PIOc_def_var_szip(nc, v, 32, 8));
	OK(PIOc_inq_var_bzip2(nc, v, &n, &l));
	EQ(n, 0);
	OK(PIOc_def_var_bzip2(nc, v, 9));
	OK(PIOc_inq_var_bzip2(nc, v, &n, &l));
	EQ(n * 10 + l, 19);
	OK(PIOc_def_var_zstandard(nc, v, -3));
	OK(PIOc_inq_var_zstandard(nc, v, NULL, &l));
	EQ(l, -3);
	OK(PIOc_inq_var_filter_ids(nc, v, &many, id));
	EQ(many, 4);
	EQ(id[1], 4);
	OK(PIOc_inq_var_filter_info(nc, v, 4, &many, got));
	EQ(many, 2);
	EQ(got[0] * 10 + got[1], 328);
	NOT(PIO_ENOFILTER, PIOc_inq_var_filter_info(nc, fixed, 4, &many, got));
	NOT(PIO_EINVAL, PIOc_def_var_quantize(nc, fixed, PIO_QUANTIZE_BITGROOM, 3));
	NOT(PIO_EINVAL, PIOc_def_var_quantize(nc, v, PIO_QUANTIZE_BITGROOM, 8));
	OK(PIOc_def_var_quantize(nc, v, PIO_QUANTIZE_BITROUND, 12));
	OK(PIOc_inq_var_quantize(nc, v, &n, &m));
	EQ(n * 100 + m, 312);
	NOT(PIO_EINVAL, PIOc_def_var_endian(nc, v, 3));
	OK(PIOc_def_var_endian(nc, v, 2));
	OK(PIOc_inq_var_endian(nc, v, &n));
	EQ(n, 2);
	OK(PIOc_get_var_chunk_cache(nc, v, &size, &slots, NULL));
	EQ(size + slots, (1 << 20) + 100);
	OK(PIOc_set_var_chunk_cache(nc, v, 64, 7, 0.25f));
	OK(PIOc_get_var_chunk_cache(nc, v, NULL, &slots, &preemption));
	EQ((double)slots + preemption, 7.25);
	NOT(PIO_ENOTVAR, PIOc_def_var_deflate(nc, 77, 1, 1, 1));
	OK(PIOc_enddef(nc));
	NOT(-123, PIOc_def_var_deflate(nc, v, 0, 1, 2));
	OK(PIOc_closefile(nc));

	type = PIO_IOTYPE_NETCDF4C; /* this file cannot have such settings */
	OK(PIOc_openfile(ios, &nc, &type, in_dir("four"), PIO_NOWRITE));
	OK(PIOc_inq_format(nc, &n));
	EQ(n, 3);
	OK(PIOc_inq_var_deflate(nc, v, &n, &m, &l));
	EQ(n + m + l, 0);
	NOT(PIO_EPERM, PIOc_def_var_deflate(nc, v, 0, 1, 2));
	OK(PIOc_closefile(nc));
	OK(PIOc_openfile(ios, &nc, &classic, in_dir("four"), PIO_NOWRITE));
	OK(PIOc_inq_format(nc, &n));
	EQ(n, 5);
	OK(PIOc_closefile(nc));
}

/* --- attributes */

static void attributes(void) {
	int nc = create("attributes"), v, n, id;
	nc_type type;
	PIO_Offset len;
	char text[PIO_MAX_NAME + 1] = "";
	OK(PIOc_def_var(nc, "v", PIO_INT, 0, NULL, &v));
	OK(PIOc_put_att_text(nc, PIO_GLOBAL, "title", 5, "title"));
	OK(PIOc_get_att_text(nc, PIO_GLOBAL, "title", text));
	SAME(text, "title");
	OK(PIOc_put_att_text(nc, v, "empty", 0, NULL));
	OK(PIOc_inq_attlen(nc, v, "empty", &len));
	EQ(len, 0);
#define ROUND(suffix, ctype, mem, more)                                                                                \
	{                                                                                                                  \
		ctype out[3] = {1, 2, 100}, in[3] = {0, 0, 0};                                                                 \
		OK(PIOc_put_att_##suffix(nc, v, #suffix, mem, 3, out));                                                        \
		OK(PIOc_get_att_##suffix(nc, v, #suffix, in));                                                                 \
		EQ(in[0] + in[1] + in[2], 103);                                                                                \
		OK(PIOc_inq_atttype(nc, v, #suffix, &type));                                                                   \
		EQ(type, mem);                                                                                                 \
		in[2] = 0;                                                                                                     \
		OK(PIOc_get_att(nc, v, #suffix, in));                                                                          \
		EQ(in[2], 100);                                                                                                \
		OK(PIOc_put_att_##suffix(nc, v, "converted", PIO_DOUBLE, 3, out));                                             \
		double d[3];                                                                                                   \
		OK(PIOc_get_att(nc, v, "converted", d));                                                                       \
		EQ(d[2], 100);                                                                                                 \
	}
	PIO_NUMBERS(ROUND, )
	short two[2] = {7, 8}, back[2];
	OK(PIOc_put_att(nc, PIO_GLOBAL, "two", PIO_SHORT, 2, two));
	OK(PIOc_get_att(nc, PIO_GLOBAL, "two", back));
	EQ(back[1], 8);
	OK(PIOc_inq_att(nc, PIO_GLOBAL, "two", &type, &len));
	EQ(type * 10 + len, PIO_SHORT * 10 + 2);
	OK(PIOc_inq_attid(nc, PIO_GLOBAL, "two", &id));
	EQ(id, 1);
	OK(PIOc_inq_attname(nc, PIO_GLOBAL, 1, text));
	SAME(text, "two");
	NOT(PIO_ENOTATT, PIOc_inq_attname(nc, PIO_GLOBAL, 9, text));
	NOT(PIO_ENOTATT, PIOc_get_att(nc, v, "none", back));
	NOT(PIO_ENOTVAR, PIOc_get_att(nc, 88, "none", back));
	NOT(PIO_EBADTYPE, PIOc_put_att(nc, v, "w", 99, 1, two));
	NOT(PIO_ECHAR, PIOc_get_att_text(nc, PIO_GLOBAL, "two", text));
	NOT(PIO_EINVAL, PIOc_put_att(nc, v, "w", PIO_SHORT, 2, NULL));
	NOT(PIO_EINVAL, PIOc_put_att(nc, v, NULL, PIO_SHORT, 2, two));
	int big = 1000;
	NOT(PIO_ERANGE, PIOc_put_att_int(nc, v, "w", PIO_BYTE, 1, &big));
	OK(PIOc_put_att_int(nc, v, "wide", PIO_INT, 3, (int[]){7, 1000, 8}));
	signed char narrow[3] = {0};
	NOT(PIO_ERANGE, PIOc_get_att_schar(nc, v, "wide", narrow));
	EQ(narrow[0] * 10 + narrow[2], 78);
	EQ(narrow[1], -127);
	OK(PIOc_rename_att(nc, PIO_GLOBAL, "two", "zwei"));
	NOT(PIO_ENOTATT, PIOc_inq_attlen(nc, PIO_GLOBAL, "two", &len));
	OK(PIOc_del_att(nc, PIO_GLOBAL, "zwei"));
	OK(PIOc_inq_natts(nc, &n));
	EQ(n, 1);
	OK(PIOc_enddef(nc));
	OK(PIOc_closefile(nc));

	int from = open_file("attributes", PIO_NOWRITE), to = create("attributes2");
	OK(PIOc_copy_att(from, v, "int", to, PIO_GLOBAL));
	OK(PIOc_copy_att(from, PIO_GLOBAL, "title", to, PIO_GLOBAL));
	NOT(PIO_EPERM, PIOc_put_att_text(from, v, "w", 1, "w"));
	OK(PIOc_closefile(from));
	NOT(PIO_EBADID, PIOc_copy_att(from, v, "int", to, PIO_GLOBAL));
	OK(PIOc_closefile(to));
	to = open_file("attributes2", PIO_NOWRITE);
	int in[3];
	OK(PIOc_get_att_int(to, PIO_GLOBAL, "int", in));
	EQ(in[2], 100);
	memset(text, 0, sizeof text);
	OK(PIOc_get_att_text(to, PIO_GLOBAL, "title", text));
	SAME(text, "title");
	OK(PIOc_closefile(to));
}

/* --- decomposed data: rank r has elements r, r+ranks, ... of N, and a hole at the end */

enum { N = 37, M = 5 };

static int decompose(int type, int *n, PIO_Offset *map) {
	int gdims[1] = {N}, id = -1;
	*n = 0;
	for (int i = rank; i < N; i += ranks)
		map[(*n)++] = i + 1;
	map[(*n)++] = 0;
	OK(PIOc_InitDecomp(ios, type, 1, gdims, *n, map, &id, NULL, NULL, NULL));
	EQ(PIOc_get_local_array_size(id), *n);
	return id;
}

static void darrays(void) {
	static const int types[] = {PIO_INT, PIO_FLOAT, PIO_DOUBLE, PIO_SHORT, PIO_INT64, PIO_BYTE};
	for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
		int nc = create("darray"), t, x, v, w, n;
		PIO_Offset map[N + 1];
		OK(PIOc_def_dim(nc, "t", PIO_UNLIMITED, &t));
		OK(PIOc_def_dim(nc, "x", N, &x));
		int tx[] = {t, x};
		OK(PIOc_def_var(nc, "v", types[k], 2, tx, &v));
		OK(PIOc_def_var(nc, "w", types[k], 1, &x, &w));
		OK(PIOc_enddef(nc));
		int d = decompose(types[k], &n, map);
		long long data[2 * (N + 1)]; /* wide enough for all types */
#define SET(i, value)                                                                                                  \
	switch (types[k]) {                                                                                                \
	case PIO_INT: ((int *)data)[i] = (value); break;                                                                   \
	case PIO_FLOAT: ((float *)data)[i] = (value); break;                                                               \
	case PIO_DOUBLE: ((double *)data)[i] = (value); break;                                                             \
	case PIO_SHORT: ((short *)data)[i] = (short)(value); break;                                                        \
	case PIO_BYTE: ((signed char *)data)[i] = (signed char)(value); break;                                             \
	default: data[i] = (value);                                                                                        \
	}
		for (int frame = 0; frame < 3; frame++) {
			for (int i = 0; i < n; i++)
				SET(i, (int)map[i] + frame);
			OK(PIOc_setframe(nc, v, frame));
			OK(PIOc_write_darray(nc, v, d, n, data, NULL));
		}
		OK(PIOc_advanceframe(nc, v));
		OK(PIOc_write_darray(nc, v, d, n, data, NULL)); /* frame 3 equals frame 2 */
		int ids[] = {v, w}, frames[] = {4, 0};
		for (int i = 0; i < n; i++) {
			SET(i, (int)map[i] + 4);
			SET(n + i, (int)map[i] + 50);
		}
		OK(PIOc_write_darray_multi(nc, ids, d, 2, n, data, frames, (const void **)data, true)); /* fill values, not their addresses */
		NOT(PIO_EINVAL, PIOc_write_darray_multi(nc, &(int){PIO_MAX_VARS + 42}, d, 1, n, data, frames, NULL, true));
		NOT(PIO_EBADID, PIOc_write_darray(nc, v, 1, n, data, NULL));
		NOT(PIO_EBADID, PIOc_read_darray(nc, v, rank == ranks - 1 ? 1 : d, n, data));
		NOT(PIO_EBADID, PIOc_get_vard(nc, v, rank == ranks - 1 ? 1 : d, 4, data));
		NOT(PIO_ENOTVAR, PIOc_write_darray(nc, 77, d, n, data, NULL));
		NOT(PIO_EINVAL, PIOc_write_darray(nc, v, d, n - 1, data, NULL));
		if (rank == ranks - 1)
			NOT(PIO_EINVAL, PIOc_write_darray(nc, v, d, n, NULL, NULL));
		else
			OK(PIOc_write_darray(nc, v, d, n, data, NULL));
		if (ranks > 1)
			NOT(PIO_EINVAL, PIOc_sync(nc)); /* if one rank has an error, all ranks get it */
		OK(PIOc_sync(nc));

		/* reads of a file open for writing */
		for (int i = 0; i < n; i++)
			SET(i, 99);
		OK(PIOc_setframe(nc, v, 1));
		OK(PIOc_read_darray(nc, v, d, n, data));
		int gdims[1] = {N}, whole;
		OK(PIOc_freedecomp(ios, d));
		NOT(PIO_EBADID, PIOc_freedecomp(ios, d));
		EQ(PIOc_get_local_array_size(d), PIO_EBADID);
		double all[N];
		OK(PIOc_closefile(nc));

		nc = open_file("darray", PIO_NOWRITE);
		PIO_Offset to[N + 2], len;
		for (int i = 0; i < N; i++) /* the whole array, backwards, with a hole */
			to[i + 1] = N - i;
		to[0] = 0;
		OK(PIOc_InitDecomp_ReadOnly(ios, PIO_DOUBLE, 1, gdims, N + 1, to, &whole, NULL, NULL, NULL));
		OK(PIOc_inq_dimlen(nc, t, &len));
		EQ(len, 5);
		for (int frame = 0; frame < 5; frame++) {
			double back[N + 1] = {-7};
			OK(PIOc_setframe(nc, v, frame));
			OK(PIOc_read_darray(nc, v, whole, N + 1, back));
			EQ(back[0], -7);
			for (int i = 0; i < N; i++)
				EQ(back[i + 1], N - i + (frame == 3 ? 2 : frame));
			if (rank == 0)
				memset(back, 0, sizeof back);
			NOT(PIO_EINVAL, PIOc_read_darray(nc, v, whole, rank == 0 ? N : N + 1, back));
		}
		OK(PIOc_get_var_double(nc, w, all));
		for (int i = 0; i < N; i++)
			EQ(all[i], i + 51);
		NOT(PIO_EPERM, PIOc_write_darray(nc, v, whole, N + 1, all, NULL));
		OK(PIOc_freedecomp(ios, whole));
		OK(PIOc_closefile(nc));
	}
}

/* Maps with offsets from 0, blocks, the functions vard, and elements without an owner. */
static void decompositions(void) {
	int nc = create("blocks"), y, x, v, d, b, gdims[2] = {M, N}, n = 0;
	OK(PIOc_def_dim(nc, "y", M, &y));
	OK(PIOc_def_dim(nc, "x", N, &x));
	int yx[] = {y, x};
	OK(PIOc_def_var(nc, "v", PIO_INT, 2, yx, &v));
	OK(PIOc_enddef(nc));
	PIO_Offset map[M * N];
	for (int i = rank; i < M * N - 1; i += ranks) /* the last element has no owner */
		map[n++] = i;
	OK(PIOc_init_decomp(ios, PIO_INT, 2, gdims, n, map, &d, PIO_REARR_BOX, NULL, NULL));
	int data[M * N], fill = -99;
	for (int i = 0; i < n; i++)
		data[i] = (int)map[i];
	OK(PIOc_write_darray(nc, v, d, n, data, &fill));
	OK(PIOc_sync(nc));
	long start[2] = {0, (long)N * rank / ranks}, count[2] = {M, (long)N * (rank + 1) / ranks - start[1]};
	OK(PIOc_InitDecomp_bc(ios, PIO_INT, 2, gdims, start, count, &b));
	EQ(PIOc_get_local_array_size(b), M * count[1]);
	double wide[M * N];
	short narrow[M * N];
	OK(PIOc_read_darray(nc, v, b, M * count[1], data));
	OK(PIOc_get_vard_double(nc, v, b, 0, wide));
	OK(PIOc_get_vard_short(nc, v, b, 0, narrow));
	OK(PIOc_get_vard(nc, v, b, 0, data));
	for (int i = 0; i < M; i++)
		for (int j = 0; j < count[1]; j++) {
			int at = i * N + (int)start[1] + j, k = i * (int)count[1] + j, want = at == M * N - 1 ? fill : at;
			EQ(data[k], want);
			EQ(wide[k], want);
			EQ(narrow[k], want);
			wide[k] = at + 1000;
		}
	OK(PIOc_put_vard_double(nc, v, b, 0, wide)); /* overwrites the elements with a different map */
	int all[M * N];
	OK(PIOc_get_var_int(nc, v, all));
	for (int i = 0; i < M * N; i++)
		EQ(all[i], i + 1000);
	OK(PIOc_put_vard(nc, v, b, 0, data));
	NOT(PIO_EBADID, PIOc_put_vard_int(nc, v, 3, 0, data));
	NOT(PIO_EINVAL, PIOc_InitDecomp_bc(ios, PIO_INT, 2, gdims, NULL, count, &b));
	start[0] = 3;
	NOT(PIO_EINVAL, PIOc_InitDecomp_bc(ios, PIO_INT, 2, gdims, start, count, &b));
	NOT(PIO_EINVAL, PIOc_InitDecomp(ios, PIO_INT, 2, NULL, n, map, &d, NULL, NULL, NULL));
	NOT(PIO_EBADTYPE, PIOc_InitDecomp(ios, 66, 2, gdims, n, map, &d, NULL, NULL, NULL));
	NOT(PIO_EINVAL, PIOc_InitDecomp(ios, PIO_INT, 2, gdims, n, rank == 0 ? NULL : map, &d, NULL, NULL, NULL));
	NOT(PIO_EBADID, PIOc_InitDecomp(ios + 55, PIO_INT, 2, gdims, n, map, &d, NULL, NULL, NULL));
	OK(PIOc_closefile(nc)); /* PIOc_finalize frees decompositions */
}

static void maps(void) {
	int d, again, n, gdims[1] = {N}, ndims, *dims = NULL, order = 7;
	PIO_Offset map[N + 1], len, *back = NULL;
	char title[PIO_MAX_NAME + 1], history[PIO_MAX_NAME + 1];
	d = decompose(PIO_INT, &n, map);
	OK(PIOc_writemap(in_dir("map"), d, 1, gdims, n, map, MPI_COMM_WORLD));
	OK(PIOc_readmap(in_dir("map"), &ndims, &dims, &len, &back, MPI_COMM_WORLD));
	EQ(ndims, 1);
	EQ(dims[0], N);
	EQ(len, n);
	for (int i = 0; i < n; i++)
		EQ(back[i], map[i]);
	free(dims);
	free(back);
	OK(PIOc_writemap_from_f90(in_dir("map2"), d, 1, gdims, n, map, (int)MPI_Comm_c2f(MPI_COMM_WORLD)));
	OK(PIOc_write_decomp(in_dir("map3"), ios, d, MPI_COMM_WORLD));
	OK(PIOc_readmap_from_f90(in_dir("map3"), &ndims, &dims, &len, &back, (int)MPI_Comm_c2f(MPI_COMM_WORLD)));
	EQ(back[n - 1], 0);
	free(dims);
	free(back);
	NOT(PIO_EINVAL, PIOc_readmap(in_dir("map3"), NULL, &dims, &len, &back, MPI_COMM_WORLD));
	NOT(PIO_EINVAL, PIOc_readmap(in_dir("map3"), &ndims, &dims, NULL, &back, MPI_COMM_WORLD));
	if (PIOc_readmap(in_dir("none"), &ndims, &dims, &len, &back, MPI_COMM_WORLD) == PIO_NOERR)
		FAIL("read a map that is not there");
	if (rank == 0) {
		FILE *f = fopen(in_dir("map"), "w");
		if (f == NULL || fputs("version 2001 npes 1 ndims 1 \n2147483648 \n0 1\n1 \n", f) < 0 || fclose(f) != 0)
			FAIL("write a map");
	}
	NOT(PIO_ERANGE, PIOc_readmap(in_dir("map"), &ndims, &dims, &len, &back, MPI_COMM_WORLD));
	OK(PIOc_write_nc_decomp(ios, in_dir("map.nc"), PIO_CLOBBER, d, "a title", "its history", 1));
	NOT(PIO_EEXIST, PIOc_write_nc_decomp(ios, in_dir("map.nc"), PIO_NOCLOBBER, d, NULL, NULL, 0));
	NOT(PIO_EBADID, PIOc_write_nc_decomp(ios, in_dir("map.nc"), PIO_CLOBBER, 3, NULL, NULL, 0));
	char of_rank[32], longtext[PIO_MAX_NAME + 2];
	memset(longtext, 't', sizeof longtext - 1);
	longtext[PIO_MAX_NAME + 1] = 0;
	NOT(PIO_EINVAL, PIOc_write_nc_decomp(ios, in_dir("map.nc"), PIO_CLOBBER, d, longtext, NULL, 0));
	NOT(PIO_EINVAL, PIOc_write_nc_decomp(ios, in_dir("map.nc"), PIO_CLOBBER, d, NULL, longtext, 0));
	snprintf(of_rank, sizeof of_rank, rank ? "map.%d.nc" : "map.nc", rank); /* the number of elements on the first rank */
	OK(PIOc_write_nc_decomp(ios, in_dir(of_rank), PIO_CLOBBER, d, "a title", "its history", 1));
	OK(PIOc_read_nc_decomp(ios, in_dir("map.nc"), &again, MPI_COMM_WORLD, PIO_DOUBLE, title, history, &order));
	EQ(PIOc_get_local_array_size(again), n);
	SAME(title, "a title");
	SAME(history, "its history");
	EQ(order, 1);
	OK(PIOc_read_nc_decomp(ios, in_dir("map.nc"), &again, MPI_COMM_WORLD, PIO_DOUBLE, NULL, NULL, NULL));
	NOT(PIO_EINVAL, PIOc_read_nc_decomp(ios, in_dir("map.nc"), NULL, MPI_COMM_WORLD, PIO_DOUBLE, NULL, NULL, NULL));
}

/* --- arrays: each type in memory with each type of variable */

#define ARRAYS(suffix, ctype, mem, more)                                                                               \
	static void arrays_##suffix(int text) {                                                                            \
		int nc = create("arrays_" #suffix), t, x, y, v;                                                                \
		PIO_Offset zero[3] = {0, 0, 0};                                                                                \
		OK(PIOc_def_dim(nc, "t", PIO_UNLIMITED, &t));                                                                  \
		OK(PIOc_def_dim(nc, "y", 3, &y));                                                                              \
		OK(PIOc_def_dim(nc, "x", 4, &x));                                                                              \
		int tyx[] = {t, y, x};                                                                                         \
		OK(PIOc_def_var(nc, "v", text ? PIO_CHAR : PIO_DOUBLE, 3, tyx, &v));                                           \
		int f;                                                                                                         \
		OK(PIOc_def_var(nc, "f", text ? PIO_CHAR : PIO_INT, 2, tyx + 1, &f));                                          \
		OK(PIOc_enddef(nc));                                                                                           \
		ctype out[24], in[24];                                                                                         \
		for (int i = 0; i < 24; i++)                                                                                   \
			out[i] = (ctype)(33 + i);                                                                                  \
		PIO_Offset two[3] = {2, 3, 4}, at[3] = {1, 2, 3}, ones[3] = {1, 2, 2}, stride[3] = {1, 2, 2}, imap[3] = {12, 1, 3}; \
		OK(PIOc_put_vara_##suffix(nc, v, zero, two, out));                                                             \
		OK(PIOc_put_var_##suffix(nc, f, out));                                                                         \
		memset(in, 0, sizeof in);                                                                                      \
		OK(PIOc_get_var_##suffix(nc, v, in));                                                                          \
		for (int i = 0; i < 24; i++)                                                                                   \
			EQ(in[i], 33 + i);                                                                                         \
		OK(PIOc_get_var1_##suffix(nc, v, at, in));                                                                     \
		EQ(in[0], 33 + 23);                                                                                            \
		out[0] = 99;                                                                                                   \
		OK(PIOc_put_var1_##suffix(nc, v, at, out));                                                                    \
		OK(PIOc_get_vara_##suffix(nc, v, at, (PIO_Offset[]){1, 1, 1}, in));                                            \
		EQ(in[0], 99);                                                                                                 \
		OK(PIOc_put_vars_##suffix(nc, v, zero, ones, stride, out + 10));                                               \
		OK(PIOc_get_vars_##suffix(nc, v, zero, ones, stride, in));                                                     \
		for (int i = 0; i < 4; i++)                                                                                    \
			EQ(in[i], 33 + 10 + i);                                                                                    \
		OK(PIOc_get_vara_##suffix(nc, v, zero, (PIO_Offset[]){1, 3, 4}, in));                                          \
		EQ(in[1], 33 + 1);                                                                                             \
		EQ(in[10], 33 + 13);                                                                                           \
		OK(PIOc_put_varm_##suffix(nc, v, zero, (PIO_Offset[]){1, 3, 4}, NULL, imap, out + 1));                         \
		OK(PIOc_get_vara_##suffix(nc, v, zero, (PIO_Offset[]){1, 3, 4}, in));                                          \
		EQ(in[1], 33 + 4); /* x varies slowest in memory */                                                                   \
		EQ(in[4], 33 + 2);                                                                                             \
		memset(in, 0, sizeof in);                                                                                      \
		OK(PIOc_get_varm_##suffix(nc, v, zero, (PIO_Offset[]){1, 3, 4}, NULL, imap, in));                              \
		for (int i = 0; i < 12; i++)                                                                                   \
			EQ(in[i], 33 + 1 + i);                                                                                     \
		OK(PIOc_get_var_##suffix(nc, f, in));                                                                          \
		EQ(in[11], 33 + 11);                                                                                           \
		NOT(PIO_EINVALCOORDS, PIOc_get_var1_##suffix(nc, f, (PIO_Offset[]){3, 0}, in));                                \
		NOT(PIO_EEDGE, PIOc_get_vara_##suffix(nc, f, zero, (PIO_Offset[]){4, 4}, in));                                 \
		NOT(PIO_EINVAL, PIOc_get_vara_##suffix(nc, f, NULL, two, in));                                                 \
		NOT(PIO_EINVAL, PIOc_put_vara_##suffix(nc, f, zero, NULL, in));                                                \
		NOT(PIO_EINVAL, PIOc_put_var_##suffix(nc, f, NULL));                                                           \
		NOT(PIO_ESTRIDE, PIOc_get_vars_##suffix(nc, f, zero, ones, zero, in));                                         \
		NOT(PIO_ENOTVAR, PIOc_get_var_##suffix(nc, 9, in));                                                            \
		OK(PIOc_closefile(nc));                                                                                        \
		nc = open_file("arrays_" #suffix, PIO_NOWRITE);                                                                \
		OK(PIOc_get_vara_##suffix(nc, v, (PIO_Offset[]){1, 0, 0}, (PIO_Offset[]){1, 3, 4}, in));                       \
		EQ(in[0], 33 + 12);                                                                                            \
		EQ(in[11], 99);                                                                                                \
		NOT(PIO_EPERM, PIOc_put_var_##suffix(nc, f, out));                                                             \
		OK(PIOc_closefile(nc));                                                                                        \
		OK(PIOc_deletefile(ios, in_dir("arrays_" #suffix)));                                                           \
	}
PIO_TYPES(ARRAYS, )

/* Functions without a type in memory use the variable's type; varm functions use MPI's type. */
static void untyped(void) {
	int nc = create("untyped"), x, v, s;
	PIO_Offset start = 2, count = 3, stride = 2, imap = 2;
	OK(PIOc_def_dim(nc, "x", 8, &x));
	OK(PIOc_def_var(nc, "v", PIO_SHORT, 1, &x, &v));
	OK(PIOc_def_var(nc, "s", PIO_DOUBLE, 0, NULL, &s));
	OK(PIOc_enddef(nc));
	short all[8] = {0, 1, 2, 3, 4, 5, 6, 7}, in[8];
	double one = 2.5, got = 0;
	OK(PIOc_put_var(nc, v, all));
	OK(PIOc_put_var(nc, s, &one));
	OK(PIOc_get_var(nc, s, &got));
	EQ(got, 2.5);
	OK(PIOc_put_var1(nc, s, NULL, &one));
	OK(PIOc_get_var1(nc, v, &start, in));
	EQ(in[0], 2);
	OK(PIOc_put_var1(nc, v, &start, &all[7]));
	OK(PIOc_get_vara(nc, v, &start, &count, in));
	EQ(in[0] * 100 + in[1] * 10 + in[2], 734);
	OK(PIOc_put_vara(nc, v, &start, &count, all));
	OK(PIOc_get_vars(nc, v, &start, &count, &stride, in));
	EQ(in[0] * 100 + in[1] * 10 + in[2], 26);
	OK(PIOc_put_vars(nc, v, &start, &count, &stride, all));
	OK(PIOc_get_var(nc, v, in));
	EQ(in[2] * 100 + in[4] * 10 + in[6], 12);
	int spread[6] = {10, -1, 20, -1, 30, -1};
	OK(PIOc_put_varm(nc, v, &start, &count, NULL, &imap, spread, 6, MPI_INT));
	int back[6] = {0};
	OK(PIOc_get_varm(nc, v, &start, &count, NULL, &imap, back, 6, MPI_INT));
	EQ(back[0] * 10000 + back[2] * 100 + back[4], 102030);
	NOT(PIO_EBADTYPE, PIOc_get_varm(nc, v, &start, &count, NULL, &imap, back, 6, MPI_2INT));
	int much = 100000;
	NOT(PIO_ERANGE, PIOc_put_var1_int(nc, v, &start, &much));
	OK(PIOc_put_var(nc, v, (short[]){1, 2, 300, 4, 5, 6, 7, 8}));
	signed char narrow[8] = {0}, apart[6] = {0};
	NOT(PIO_ERANGE, PIOc_get_var_schar(nc, v, narrow));
	EQ(narrow[1] * 100 + narrow[3] * 10 + narrow[7], 248);
	EQ(narrow[2], -127);
	NOT(PIO_ERANGE, PIOc_get_varm_schar(nc, v, &start, &count, NULL, &imap, apart));
	EQ(apart[0], -127);
	EQ(apart[2] * 10 + apart[4], 45);
	NOT(PIO_ECHAR, PIOc_put_var1_text(nc, v, &start, "x"));
	OK(PIOc_closefile(nc));
}

/* --- files */

static void files(void) {
	int nc = create("one"), other = -1, t = 77, v, x;
	OK(PIOc_def_dim(nc, "x", 4, &x));
	OK(PIOc_def_var(nc, "v", PIO_INT, 1, &x, &v));
	OK(PIOc_enddef(nc));
	OK(PIOc_put_var_int(nc, v, (int[]){1, 2, 3, 4}));
	OK(PIOc_closefile(nc));
	NOT(PIO_EBADIOTYPE, PIOc_createfile(ios, &nc, &t, in_dir("two"), 0));
	NOT(PIO_EBADIOTYPE, PIOc_createfile(ios, &nc, rank == 0 ? &t : &iotype, in_dir("two"), 0));
	NOT(PIO_EBADIOTYPE, PIOc_openfile(ios, &nc, &t, in_dir("one"), 0));
	NOT(PIO_EINVAL, PIOc_createfile(ios, &nc, NULL, in_dir("two"), 0));
	NOT(PIO_EINVAL, PIOc_openfile(ios, &nc, NULL, in_dir("one"), 0));
	NOT(PIO_EEXIST, PIOc_createfile(ios, &nc, &iotype, in_dir("one"), PIO_NOCLOBBER));
	NOT(PIO_EINVAL, PIOc_createfile(ios, &nc, &iotype, rank == ranks - 1 ? NULL : in_dir("two"), 0));
	NOT(PIO_EINVAL, PIOc_createfile(ios, NULL, &iotype, in_dir("two"), 0));
	if (PIOc_open(ios, in_dir("none"), PIO_NOWRITE, &nc) == PIO_NOERR)
		FAIL("opened what is not there");
	OK(PIOc_open(ios, in_dir("one"), PIO_NOWRITE, &nc));
	OK(PIOc_openfile2(ios, &other, &iotype, in_dir("one"), PIO_NOWRITE)); /* the file is open twice */
	int in[4];
	OK(PIOc_get_var_int(other, v, in));
	EQ(in[3], 4);
	OK(PIOc_closefile(other));
	OK(PIOc_get_var_int(nc, v, in));
	EQ(in[2], 3);
	OK(PIOc_closefile(nc));
	OK(PIOc_openfile_retry(ios, &nc, &iotype, in_dir("one"), PIO_WRITE, 1));
	int w, i;
	OK(PIOc_redef(nc));
	OK(PIOc_def_var(nc, "w", PIO_INT, 1, &x, &w));
	OK(PIOc_enddef(nc));
	OK(PIOc_put_var_int(nc, w, (int[]){5, 6, 7, 8}));
	OK(PIOc_put_var1_int(nc, v, (PIO_Offset[]){1}, (int[]){9}));
	OK(PIOc_closefile(nc));
	OK(PIOc_create(ios, in_dir("created"), PIO_64BIT_DATA, &nc));
	OK(PIOc_enddef(nc));
	OK(PIOc_inq_format(nc, &i));
	EQ(i, 5);
	OK(PIOc_closefile(nc));
	nc = open_file("one", PIO_NOWRITE);
	OK(PIOc_get_var_int(nc, v, in));
	EQ(in[1], 9);
	OK(PIOc_get_var_int(nc, w, in));
	EQ(in[3], 8);
	OK(PIOc_closefile(nc));
	OK(PIOc_deletefile(ios, in_dir("one")));
	if (PIOc_open(ios, in_dir("one"), PIO_NOWRITE, &nc) == PIO_NOERR)
		FAIL("opened what was deleted");
	NOT(PIO_EINVAL, PIOc_deletefile(ios, NULL));
	int64_t counts[3];
	if (rank == 0 && (blobio_check(in_dir("darray"), NULL, NULL, NULL, counts) || counts[2]))
		FAIL("check: %s, %lld errors", blobio_last_error(), (long long)counts[2]);
	MPI_Barrier(MPI_COMM_WORLD);

	/* a file that is still open is committed when its ranks leave */
	int id;
	OK(PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 1, 0, PIO_REARR_BOX, &id));
	OK(PIOc_set_hint(id, "blobio_pio", "canonical"));
	OK(PIOc_createfile(id, &nc, &iotype, in_dir("left"), 0));
	OK(PIOc_def_dim(nc, "x", 4, &x));
	OK(PIOc_def_var(nc, "v", PIO_INT, 1, &x, &v));
	OK(PIOc_enddef(nc));
	OK(PIOc_put_var_int(nc, v, (int[]){1, 2, 3, 4}));
	OK(PIOc_finalize(id));
	NOT(PIO_EBADID, PIOc_closefile(nc));
	nc = open_file("left", PIO_NOWRITE);
	OK(PIOc_get_var_int(nc, v, in));
	EQ(in[3], 4);
	OK(PIOc_closefile(nc));
	char magic[3] = "";
	FILE *f = fopen(in_dir("left"), "r");
	if (!f || fread(magic, 1, 3, f) != 3 || memcmp(magic, "CDF", 3))
		FAIL("no canonical file");
	if (f)
		fclose(f);
}

/* The ranks form two groups, which work at the same time. */
static void halves(void) {
	MPI_Comm half;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	int id, nc, v, in = 0;
	char name[16];
	snprintf(name, sizeof name, "half%d", rank % 2);
	OK(PIOc_Init_Intracomm(half, 1, 1, 0, PIO_REARR_BOX, &id));
	OK(PIOc_createfile(id, &nc, &iotype, in_dir(name), 0));
	OK(PIOc_def_var(nc, "v", PIO_INT, 0, NULL, &v));
	OK(PIOc_enddef(nc));
	OK(PIOc_put_var_int(nc, v, (int[]){rank % 2 + 5}));
	OK(PIOc_closefile(nc));
	OK(PIOc_openfile(id, &nc, &iotype, in_dir(name), PIO_NOWRITE));
	OK(PIOc_get_var_int(nc, v, &in));
	EQ(in, rank % 2 + 5);
	OK(PIOc_closefile(nc));
	OK(PIOc_finalize(id));
	MPI_Comm_free(&half);
	MPI_Barrier(MPI_COMM_WORLD);
	nc = open_file("half0", PIO_NOWRITE);
	OK(PIOc_get_var_int(nc, v, &in));
	EQ(in, 5);
	OK(PIOc_closefile(nc));
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	if (argc > 2)
		return PIOc_closefile(4711) == PIO_EBADID ? 0 : 2; /* does not return, because by default errors end the job */
	if (argc != 2)
		return 2;
	dir = argv[1];
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int old = 0;
	OK(PIOc_set_iosystem_error_handling(PIO_DEFAULT, PIO_RETURN_ERROR, &old));
	EQ(old, PIO_INTERNAL_ERROR);
	OK(PIOc_set_log_level(0));
	OK(PIOc_Init_Intracomm(MPI_COMM_WORLD, ranks, 1, 0, PIO_REARR_BOX, &ios));
#define STEP(call) (rank || getenv("PIO_QUIET") ? 0 : (printf("%s\n", #call), fflush(stdout)), call)
	STEP(systems());
	STEP(texts());
	STEP(definitions());
	STEP(storage());
	STEP(attributes());
	STEP(darrays());
	STEP(decompositions());
	STEP(maps());
#define RUN(suffix, ctype, mem, more) STEP(arrays_##suffix((mem) == PIO_CHAR));
	PIO_TYPES(RUN, )
	STEP(untyped());
	STEP(files());
	STEP(halves());
	OK(PIOc_finalize(ios));
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (rank == 0)
		printf("%d ranks, %d failures\n", ranks, failures);
	return failures != 0;
}
