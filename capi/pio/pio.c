// The functions of pio.h. This file has only the parts that must work without the Go runtime: the texts of codes, the abort of the
// job after an error, and the refusal to run in a child of fork. Everything else is in libblobio_mpi, see edge.h.

#include "pio.h"

#include <pthread.h>
#include <unistd.h>

#include "blobio.h"
#include "edge.h"

#define P(p) ((word)(p))

static volatile int forked, loglevel;

static void in_child(void) { forked = 1; }

__attribute__((constructor)) static void start(void) { pthread_atfork(NULL, NULL, in_child); }

// result returns a code to the caller. An error becomes the thread's last error (blobio_last_error), and ends the job if the error handler says so.
static int result(int rc, const blobio_pio_failure *e) {
	if (rc == PIO_NOERR)
		return rc;
	blobio_fail(rc, e->text);
	int abort = e->handler == PIO_INTERNAL_ERROR;
	if (abort || loglevel > 0)
		fprintf(stderr, "blobio: PIO error %d: %s\n", rc, e->text);
	if (abort) {
		usleep(200000); // MPICH's launcher ends at once, possibly before it has printed the text
		MPI_Abort(MPI_COMM_WORLD, rc < 0 ? -rc : rc);
	}
	return rc;
}

static int refused(void) { return blobio_fail(PIO_EINVAL, "the library does not work in a child of fork, only in the parent or after exec"); }

// RUN calls a Go function and yields its code. CALL returns this code.
#define RUN(name, ...)                                                                                                 \
	({                                                                                                                 \
		blobio_pio_failure e;                                                                                          \
		e.handler = 0;                                                                                                 \
		e.text[0] = 0;                                                                                                 \
		forked ? refused() : result(blobioGoPio##name(__VA_ARGS__, &e), &e);                                             \
	})
#define CALL(name, ...) return RUN(name, __VA_ARGS__)

// Returns an error for an argument, found before any Go function is called. The error belongs to an I/O system, or to PIO_DEFAULT.
PIO_API int blobio_pio_wrong(int iosysid, int code, const char *text) { CALL(Refuse, iosysid, code, P(text)); }

// Agrees on a code with the other ranks. If no rank has an error, the PIO_Offset at n becomes the base rank's value. Collective.
int blobio_pio_agree(int nc, int code, word n) { CALL(Agree, nc, code, P(blobio_last_error()), n); }

// base is 1 on the rank whose data put_var writes.
int blobio_pio_is_base(int nc, int *base) { CALL(IsBase, nc, P(base)); }

enum { NAME_SIZE = PIO_MAX_NAME + 1 };

// --- texts of codes: the texts of netCDF and PnetCDF, because programs compare them

static const struct {
	int code;
	const char *text;
} texts[] = {
	{PIO_NOERR, "No error"},
	{PIO_EBADID, "NetCDF: Not a valid ID"},
	{PIO_ENFILE, "NetCDF: Too many files open"},
	{PIO_EEXIST, "NetCDF: File exists && NC_NOCLOBBER"},
	{PIO_EINVAL, "NetCDF: Invalid argument"},
	{PIO_EPERM, "NetCDF: Write to read only"},
	{PIO_ENOTINDEFINE, "NetCDF: Operation not allowed in data mode"},
	{PIO_EINDEFINE, "NetCDF: Operation not allowed in define mode"},
	{PIO_EINVALCOORDS, "NetCDF: Index exceeds dimension bound"},
	{PIO_EMAXDIMS, "NetCDF: NC_MAX_DIMS exceeded"},
	{PIO_ENAMEINUSE, "NetCDF: String match to name in use"},
	{PIO_ENOTATT, "NetCDF: Attribute not found"},
	{PIO_EMAXATTS, "NetCDF: NC_MAX_ATTRS exceeded"},
	{PIO_EBADTYPE, "NetCDF: Not a valid data type or _FillValue type mismatch"},
	{PIO_EBADDIM, "NetCDF: Invalid dimension ID or name"},
	{PIO_EUNLIMPOS, "NetCDF: NC_UNLIMITED in the wrong index"},
	{PIO_EMAXVARS, "NetCDF: NC_MAX_VARS exceeded"},
	{PIO_ENOTVAR, "NetCDF: Variable not found"},
	{PIO_EGLOBAL, "NetCDF: Action prohibited on NC_GLOBAL varid"},
	{PIO_ENOTNC, "NetCDF: Unknown file format"},
	{PIO_ESTS, "NetCDF: In Fortran, string too short"},
	{PIO_EMAXNAME, "NetCDF: NC_MAX_NAME exceeded"},
	{PIO_EUNLIMIT, "NetCDF: NC_UNLIMITED size already in use"},
	{PIO_ENORECVARS, "NetCDF: nc_rec op when there are no record vars"},
	{PIO_ECHAR, "NetCDF: Attempt to convert between text & numbers"},
	{PIO_EEDGE, "NetCDF: Start+count exceeds dimension bound"},
	{PIO_ESTRIDE, "NetCDF: Illegal stride"},
	{PIO_EBADNAME, "NetCDF: Name contains illegal characters"},
	{PIO_ERANGE, "NetCDF: Numeric conversion not representable"},
	{PIO_ENOMEM, "NetCDF: Memory allocation (malloc) failure"},
	{PIO_EVARSIZE, "NetCDF: One or more variable sizes violate format constraints"},
	{PIO_EDIMSIZE, "NetCDF: Invalid dimension size"},
	{PIO_ETRUNC, "NetCDF: File likely truncated or possibly corrupted"},
	{PIO_EAXISTYPE, "NetCDF: Illegal axis type"},
	{PIO_EDAP, "NetCDF: DAP failure"},
	{PIO_ECURL, "NetCDF: libcurl failure"},
	{PIO_EIO, "NetCDF: I/O failure"},
	{PIO_ENODATA, "NetCDF: Variable has no data"},
	{PIO_EDAPSVC, "NetCDF: DAP server error"},
	{PIO_EDAS, "NetCDF: Malformed or inaccessible DAP DAS"},
	{PIO_EDDS, "NetCDF: Malformed or inaccessible DAP2 DDS or DAP4 DMR response"},
	{PIO_EDATADDS, "NetCDF: Malformed or inaccessible DAP2 DATADDS or DAP4 DAP response"},
	{PIO_EDAPURL, "NetCDF: Malformed URL"},
	{PIO_EDAPCONSTRAINT, "NetCDF: Malformed or unexpected Constraint"},
	{PIO_ETRANSLATION, "NetCDF: Untranslatable construct"},
	{PIO_EHDFERR, "NetCDF: HDF error"},
	{PIO_ECANTREAD, "NetCDF: Can't read file"},
	{PIO_ECANTWRITE, "NetCDF: Can't write file"},
	{PIO_ECANTCREATE, "NetCDF: Can't create file"},
	{PIO_EFILEMETA, "NetCDF: Can't add HDF5 file metadata"},
	{PIO_EDIMMETA, "NetCDF: Can't define dimensional metadata"},
	{PIO_EATTMETA, "NetCDF: Can't open HDF5 attribute"},
	{PIO_EVARMETA, "NetCDF: Problem with variable metadata."},
	{PIO_ENOCOMPOUND, "NetCDF: Can't create HDF5 compound type"},
	{PIO_EATTEXISTS, "NetCDF: Attempt to create attribute that already exists"},
	{PIO_ENOTNC4, "NetCDF: Attempting netcdf-4 operation on netcdf-3 file"},
	{PIO_ESTRICTNC3, "NetCDF: Attempting netcdf-4 operation on strict nc3 netcdf-4 file"},
	{PIO_ENOTNC3, "NetCDF: Attempting netcdf-3 operation on netcdf-4 file"},
	{PIO_ENOPAR, "NetCDF: Parallel operation on file opened for non-parallel access"},
	{PIO_EPARINIT, "NetCDF: Error initializing for parallel access"},
	{PIO_EBADGRPID, "NetCDF: Bad group ID"},
	{PIO_EBADTYPID, "NetCDF: Bad type ID"},
	{PIO_ETYPDEFINED, "NetCDF: Type has already been defined and may not be edited"},
	{PIO_EBADFIELD, "NetCDF: Bad field ID"},
	{PIO_EBADCLASS, "NetCDF: Bad class"},
	{PIO_EMAPTYPE, "NetCDF: Mapped access for atomic types only"},
	{PIO_ELATEFILL, "NetCDF: Attempt to define fill value when data already exists."},
	{PIO_ELATEDEF, "NetCDF: Attempt to define var properties, like deflate, after enddef."},
	{PIO_EDIMSCALE, "NetCDF: Problem with HDF5 dimscales."},
	{PIO_ENOGRP, "NetCDF: No group found."},
	{PIO_ESTORAGE, "NetCDF: Cannot specify both contiguous and chunking."},
	{PIO_EBADCHUNK, "NetCDF: Bad chunk sizes."},
	{PIO_ENOTBUILT, "NetCDF: Attempt to use feature that was not turned on when netCDF was built."},
	{PIO_EDISKLESS, "NetCDF: Error in using diskless access"},
	{PIO_ENOFILTER, "NetCDF: Filter error: undefined filter encountered"},
	{PIO_EINDEP, "Operation not allowed in independent data mode"},
	{PIO_EINSUFFBUF, "Attached buffer is too small."},
	{-250, "File header is inconsistent among processes"},
	{-251, "File open mode is inconsistent among processes."},
	{-252, "Number of dimensions is inconsistent among processes."},
	{-253, "Dimension size is inconsistent among processes."},
	{-254, "Dimension name is inconsistent among processes."},
	{-255, "Number of variables is inconsistent among processes."},
	{-256, "Variable name is inconsistent among processes."},
	{-257, "Dimensionality of this variable is inconsistent among processes."},
	{-258, "Dimension IDs used to define this variable are inconsistent among processes."},
	{-259, "Data type of this variable is inconsistent among processes."},
	{-260, "Number of elements of this variable is inconsistent among processes."},
	{-261, "Number of records is inconsistent among processes."},
	{-262, "Starting file offset of this variable is inconsistent among processes."},
	{-263, "Number of attributes is inconsistent among processes."},
	{-264, "Memory space used by attribute (internal use) is inconsistent among processes."},
	{-265, "Attribute name is inconsistent among processes."},
	{-266, "Attribute type is inconsistent among processes."},
	{-267, "Attribute length is inconsistent among processes."},
	{-268, "Attribute value is inconsistent among processes."},
	{-269, "Arguments in collective API are inconsistent among processes."},
	{-270, "File fill mode is inconsistent among processes."},
	{-271, "Variable fill mode is inconsistent among processes."},
	{-272, "Variable fill value is inconsistent among processes."},
	{-273, "File create mode is inconsistent among processes."},
	{PIO_EBADIOTYPE, "Bad IO type"},
	{PIO_EINTERNAL, "Internal error, or a decomposition that does not fit the variable"},
};

int PIOc_strerror(int pioerr, char *errmsg, size_t errmsg_sz) {
	if (!errmsg || !errmsg_sz)
		return blobio_pio_wrong(PIO_DEFAULT, PIO_EINVAL, "strerror: no buffer");
	const char *text = pioerr > 0 ? strerror(pioerr) : "Unknown Error: Unrecognized error code";
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (texts[i].code == pioerr)
			text = texts[i].text;
	snprintf(errmsg, errmsg_sz, "%s", text);
	return PIO_NOERR;
}

PIO_API int blobio_ncar_strerror(int pioerr, char *errstr) { return PIOc_strerror(pioerr, errstr, NAME_SIZE); }

int PIOc_set_log_level(int level) {
	loglevel = level;
	return PIO_NOERR;
}

int PIOc_set_global_log_level(int iosysid, int level) {
	int rc = RUN(System, iosysid, 0, 0, 0);
	return rc ? rc : PIOc_set_log_level(level);
}

// --- I/O systems

int PIOc_Init_Intracomm(MPI_Comm comp_comm, int num_iotasks, int stride, int base, int rearr, int *iosysidp) {
	CALL(Init, P(comp_comm), num_iotasks, stride, base, rearr, P(iosysidp));
}

int PIOc_Init_Intracomm_from_F90(int f90_comp_comm, const int num_iotasks, const int stride, const int base, const int rearr,
                                 rearr_opt_t *rearr_opts, int *iosysidp) {
	int rc = PIOc_Init_Intracomm(MPI_Comm_f2c(f90_comp_comm), num_iotasks, stride, base, rearr, iosysidp);
	if (rc || !rearr_opts)
		return rc;
	return PIOc_set_rearr_opts(*iosysidp, rearr_opts->comm_type, rearr_opts->fcd, rearr_opts->comp2io.hs, rearr_opts->comp2io.isend,
	                           rearr_opts->comp2io.max_pend_req, rearr_opts->io2comp.hs, rearr_opts->io2comp.isend, rearr_opts->io2comp.max_pend_req);
}

int PIOc_finalize(int iosysid) { CALL(Finalize, iosysid); }
int PIOc_free_iosystem(int iosysid) { CALL(Finalize, iosysid); }

int PIOc_set_iosystem_error_handling(int iosysid, int method, int *old_method) { CALL(SystemHandler, iosysid, method, P(old_method)); }

// The following two functions return the previous method, or an error. Errors are larger than every method.
int PIOc_Set_IOSystem_Error_Handling(int iosysid, int method) {
	int old = 0, rc = RUN(SystemHandler, iosysid, method, P(&old));
	return rc ? rc : old;
}

int PIOc_Set_File_Error_Handling(int ncid, int method) {
	int old = 0, rc = RUN(FileHandler, ncid, method, P(&old));
	return rc ? rc : old;
}

int PIOc_get_numiotasks(int iosysid, int *numiotasks) { CALL(System, iosysid, P(numiotasks), 0, 0); }

int PIOc_iam_iotask(int iosysid, bool *ioproc) {
	int member = 0, rc = RUN(System, iosysid, 0, P(&member), 0);
	if (!rc && ioproc)
		*ioproc = member;
	return rc;
}

int PIOc_iotask_rank(int iosysid, int *iorank) { CALL(System, iosysid, 0, 0, P(iorank)); }

// If iosysid is not an I/O system, the answer is false, without an error.
int PIOc_iosystem_is_active(int iosysid, bool *active) {
	blobio_pio_failure e;
	bool yes = !forked && blobioGoPioSystem(iosysid, 0, 0, 0, &e) == PIO_NOERR;
	if (active)
		*active = yes;
	return PIO_NOERR;
}

int PIOc_get_iosystem(int ncid) {
	int sys = -1, rc = RUN(SystemOf, ncid, P(&sys));
	return rc ? rc : sys;
}

int PIOc_iotype_available(int iotype) { return iotype >= PIO_IOTYPE_PNETCDF && iotype <= PIO_IOTYPE_HDF5C; }

// The options have no effect, but wrong options are errors.
int PIOc_set_rearr_opts(int iosysid, int comm_type, int fcd, bool enable_hs_c2i, bool enable_isend_c2i, int max_pend_req_c2i,
                        bool enable_hs_i2c, bool enable_isend_i2c, int max_pend_req_i2c) {
	(void)enable_hs_c2i, (void)enable_isend_c2i, (void)enable_hs_i2c, (void)enable_isend_i2c;
	int rc = RUN(System, iosysid, 0, 0, 0);
	if (rc)
		return rc;
	if (comm_type < PIO_REARR_COMM_P2P || comm_type > PIO_REARR_COMM_COLL || fcd < PIO_REARR_COMM_FC_2D_ENABLE || fcd > PIO_REARR_COMM_FC_2D_DISABLE ||
	    max_pend_req_c2i < PIO_REARR_COMM_UNLIMITED_PEND_REQ || max_pend_req_i2c < PIO_REARR_COMM_UNLIMITED_PEND_REQ)
		return blobio_pio_wrong(iosysid, PIO_EINVAL, "options of the rearranger: want a PIO_REARR_COMM_ type, a PIO_REARR_COMM_FC_ direction, and -1 requests or more");
	return PIO_NOERR;
}

int PIOc_set_hint(int iosysid, const char *hint, const char *hintval) { CALL(Hint, iosysid, P(hint), P(hintval)); }

int PIOc_set_blocksize(int newblocksize) {
	return newblocksize > 0 ? PIO_NOERR : blobio_pio_wrong(PIO_DEFAULT, PIO_EINVAL, "blocksize: want a positive number");
}

static PIO_Offset limit_buffer(PIO_Offset limit, int64_t usual) {
	int64_t old = 0;
	RUN(BufferLimit, limit, usual, P(&old));
	return old;
}

PIO_Offset PIOc_set_buffer_size_limit(PIO_Offset limit) { return limit_buffer(limit, 64 << 20); }
PIO_API PIO_Offset blobio_ncar_set_buffer_size_limit(PIO_Offset limit) { return limit_buffer(limit, 128 << 20); }

static int no_io_ranks(void) {
	return blobio_pio_wrong(PIO_DEFAULT, PIO_ENOTBUILT, "ranks that do nothing but I/O (intercommunicators, asynchronous I/O) are not a part of blobio: use PIOc_Init_Intracomm");
}

int PIOc_init_async(MPI_Comm world, int num_io_procs, const int *io_proc_list, int component_count, const int *num_procs_per_comp,
                    const int **proc_list, MPI_Comm *io_comm, MPI_Comm *comp_comm, int rearranger, int *iosysidp) {
	(void)world, (void)num_io_procs, (void)io_proc_list, (void)component_count, (void)num_procs_per_comp;
	(void)proc_list, (void)io_comm, (void)comp_comm, (void)rearranger, (void)iosysidp;
	return no_io_ranks();
}

int PIOc_init_async_from_comms(MPI_Comm world, int component_count, MPI_Comm *comp_comm, MPI_Comm io_comm, int rearranger, int *iosysidp) {
	(void)world, (void)component_count, (void)comp_comm, (void)io_comm, (void)rearranger, (void)iosysidp;
	return no_io_ranks();
}

int PIOc_init_intercomm(int component_count, const MPI_Comm peer_comm, const MPI_Comm *ucomp_comms, const MPI_Comm uio_comm, int rearranger,
                        int *iosysidps) {
	(void)component_count, (void)peer_comm, (void)ucomp_comms, (void)uio_comm, (void)rearranger, (void)iosysidps;
	return no_io_ranks();
}

int PIOc_Init_Intercomm_from_F90(int component_count, int f90_peer_comm, const int *f90_comp_comms, int f90_io_comm, int rearranger, int *iosysidps) {
	(void)component_count, (void)f90_peer_comm, (void)f90_comp_comms, (void)f90_io_comm, (void)rearranger, (void)iosysidps;
	return no_io_ranks();
}

// --- decompositions; the rearranger and the parts of I/O ranks have no effect

int PIOc_InitDecomp(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                    const int *rearr, const PIO_Offset *iostart, const PIO_Offset *iocount) {
	(void)rearr, (void)iostart, (void)iocount;
	CALL(InitDecomp, iosysid, pio_type, ndims, P(gdimlen), maplen, P(compmap), 0, P(ioidp));
}

int PIOc_InitDecomp_ReadOnly(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                             const int *rearr, const PIO_Offset *iostart, const PIO_Offset *iocount) {
	(void)rearr, (void)iostart, (void)iocount;
	CALL(InitDecomp, iosysid, pio_type, ndims, P(gdimlen), maplen, P(compmap), PIO_READONLY, P(ioidp));
}

PIO_API int blobio_ncar_InitDecomp(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                                   const int *rearr, const PIO_Offset *iostart, const PIO_Offset *iocount) {
	(void)rearr, (void)iostart, (void)iocount;
	CALL(InitDecomp, iosysid, pio_type, ndims, P(gdimlen), maplen, P(compmap), PIO_OF_NCAR, P(ioidp));
}

PIO_API int blobio_ncar_InitDecomp_ReadOnly(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                                            const int *rearr, const PIO_Offset *iostart, const PIO_Offset *iocount) {
	(void)rearr, (void)iostart, (void)iocount;
	CALL(InitDecomp, iosysid, pio_type, ndims, P(gdimlen), maplen, P(compmap), PIO_OF_NCAR | PIO_READONLY, P(ioidp));
}

// Converts a map with offsets from 0, in which -1 is a hole.
static int init_from_0(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp, int flags) {
	PIO_Offset *from1 = NULL;
	if (compmap && maplen > 0 && !(from1 = malloc((size_t)maplen * sizeof *from1)))
		return blobio_pio_wrong(iosysid, PIO_ENOMEM, "init_decomp: no memory for the map");
	for (int i = 0; from1 && i < maplen; i++)
		from1[i] = compmap[i] + 1;
	int rc = RUN(InitDecomp, iosysid, pio_type, ndims, P(gdimlen), maplen, P(from1 ? from1 : compmap), flags, P(ioidp));
	free(from1);
	return rc;
}

int PIOc_init_decomp(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                     int rearranger, const PIO_Offset *iostart, const PIO_Offset *iocount) {
	(void)rearranger, (void)iostart, (void)iocount;
	return init_from_0(iosysid, pio_type, ndims, gdimlen, maplen, compmap, ioidp, 0);
}

PIO_API int blobio_ncar_init_decomp(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                                    int rearranger, const PIO_Offset *iostart, const PIO_Offset *iocount) {
	(void)rearranger, (void)iostart, (void)iocount;
	return init_from_0(iosysid, pio_type, ndims, gdimlen, maplen, compmap, ioidp, PIO_OF_NCAR);
}

int PIOc_InitDecomp_bc(int iosysid, int basetype, int ndims, const int *gdimlen, const long int *start, const long int *count, int *ioidp) {
	CALL(InitDecompBlock, iosysid, basetype, ndims, P(gdimlen), P(start), P(count), P(ioidp));
}

int PIOc_freedecomp(int iosysid, int ioid) { CALL(FreeDecomp, iosysid, ioid); }

int PIOc_get_local_array_size(int ioid) {
	int n = 0, rc = RUN(LocalSize, ioid, P(&n));
	return rc ? rc : n;
}

// Maps in files. The caller must free a map that was read.

int PIOc_writemap(const char *file, int ioid, int ndims, const int *gdims, PIO_Offset maplen, const PIO_Offset *map, MPI_Comm comm) {
	(void)ioid;
	CALL(WriteMap, P(comm), P(file), ndims, P(gdims), maplen, P(map));
}

int PIOc_writemap_from_f90(const char *file, int ioid, int ndims, const int *gdims, PIO_Offset maplen, const PIO_Offset *map, int f90_comm) {
	return PIOc_writemap(file, ioid, ndims, gdims, maplen, map, MPI_Comm_f2c(f90_comm));
}

PIO_API int blobio_ncar_writemap(const char *file, int ndims, const int *gdims, PIO_Offset maplen, PIO_Offset *map, MPI_Comm comm) {
	return PIOc_writemap(file, 0, ndims, gdims, maplen, map, comm);
}

PIO_API int blobio_ncar_writemap_from_f90(const char *file, int ndims, const int *gdims, PIO_Offset maplen, const PIO_Offset *map, int f90_comm) {
	return PIOc_writemap_from_f90(file, 0, ndims, gdims, maplen, map, f90_comm);
}

int PIOc_readmap(const char *file, int *ndims, int **gdims, PIO_Offset *fmaplen, PIO_Offset **map, MPI_Comm comm) {
	CALL(ReadMap, P(comm), P(file), P(ndims), P(gdims), P(fmaplen), P(map));
}

int PIOc_readmap_from_f90(const char *file, int *ndims, int **gdims, PIO_Offset *maplen, PIO_Offset **map, int f90_comm) {
	return PIOc_readmap(file, ndims, gdims, maplen, map, MPI_Comm_f2c(f90_comm));
}

int PIOc_write_decomp(const char *file, int iosysid, int ioid, MPI_Comm comm) { CALL(WriteText, iosysid, P(file), ioid, P(comm)); }

int PIOc_write_nc_decomp(int iosysid, const char *filename, int cmode, int ioid, const char *title, const char *history, int fortran_order) {
	CALL(WriteDecomp, iosysid, P(filename), cmode, ioid, P(title), P(history), fortran_order);
}

PIO_API int blobio_ncar_write_nc_decomp(int iosysid, const char *filename, int cmode, int ioid, char *title, char *history, int fortran_order) {
	return PIOc_write_nc_decomp(iosysid, filename, cmode | PIO_OF_NCAR, ioid, title, history, fortran_order);
}

int PIOc_read_nc_decomp(int iosysid, const char *filename, int *ioid, MPI_Comm comm, int pio_type, char *title, char *history, int *fortran_order) {
	(void)comm; // the I/O system has its own communicator
	CALL(ReadDecomp, iosysid, P(filename), pio_type, P(ioid), P(title), P(history), NAME_SIZE, P(fortran_order));
}

// --- files

int PIOc_createfile(int iosysid, int *ncidp, const int *iotype, const char *fname, int mode) {
	if (!iotype)
		return blobio_pio_wrong(iosysid, PIO_EINVAL, "createfile: NULL for the I/O type");
	CALL(Create, iosysid, P(fname), *iotype, mode, P(ncidp));
}

int PIOc_create(int iosysid, const char *path, int cmode, int *ncidp) { CALL(Create, iosysid, P(path), PIO_IOTYPE_NETCDF, cmode, P(ncidp)); }

int PIOc_openfile(int iosysid, int *ncidp, int *iotype, const char *fname, int mode) {
	if (!iotype)
		return blobio_pio_wrong(iosysid, PIO_EINVAL, "openfile: NULL for the I/O type");
	CALL(Open, iosysid, P(fname), *iotype, mode, P(ncidp));
}

int PIOc_openfile2(int iosysid, int *ncidp, int *iotype, const char *fname, int mode) { return PIOc_openfile(iosysid, ncidp, iotype, fname, mode); }

int PIOc_openfile_retry(int iosysid, int *ncidp, int *iotype, const char *filename, int mode, int retry) {
	(void)retry; // PIO retries with another I/O type; here all types read the same files
	return PIOc_openfile(iosysid, ncidp, iotype, filename, mode);
}

int PIOc_open(int iosysid, const char *path, int mode, int *ncidp) { CALL(Open, iosysid, P(path), PIO_IOTYPE_NETCDF, mode, P(ncidp)); }

// A bit in the mode selects NCAR's behaviour.
PIO_API int blobio_ncar_createfile(int iosysid, int *ncidp, const int *iotype, const char *fname, int mode) {
	return PIOc_createfile(iosysid, ncidp, iotype, fname, mode | PIO_OF_NCAR);
}

PIO_API int blobio_ncar_openfile(int iosysid, int *ncidp, int *iotype, const char *fname, int mode) {
	return PIOc_openfile(iosysid, ncidp, iotype, fname, mode | PIO_OF_NCAR);
}

PIO_API int blobio_ncar_create(int iosysid, const char *path, int cmode, int *ncidp) { return PIOc_create(iosysid, path, cmode | PIO_OF_NCAR, ncidp); }
PIO_API int blobio_ncar_open(int iosysid, const char *path, int mode, int *ncidp) { return PIOc_open(iosysid, path, mode | PIO_OF_NCAR, ncidp); }

int PIOc_closefile(int ncid) { CALL(Close, ncid); }
int PIOc_deletefile(int iosysid, const char *filename) { CALL(Delete, iosysid, P(filename)); }
int PIOc_sync(int ncid) { CALL(Sync, ncid); }
int PIOc_redef(int ncid) { CALL(Redef, ncid); }
int PIOc_enddef(int ncid) { CALL(Enddef, ncid); }
int PIOc_set_fill(int ncid, int fillmode, int *old_modep) { CALL(SetFill, ncid, fillmode, P(old_modep)); }

int PIOc_File_is_Open(int ncid) {
	int open = 0;
	RUN(IsOpen, ncid, P(&open));
	return open;
}

int PIOc_inq(int ncid, int *ndimsp, int *nvarsp, int *ngattsp, int *unlimdimidp) { CALL(Inq, ncid, P(ndimsp), P(nvarsp), P(ngattsp), P(unlimdimidp), 0); }
int PIOc_inq_format(int ncid, int *formatp) { CALL(Inq, ncid, 0, 0, 0, 0, P(formatp)); }
int PIOc_inq_ndims(int ncid, int *ndimsp) { CALL(Inq, ncid, P(ndimsp), 0, 0, 0, 0); }
int PIOc_inq_nvars(int ncid, int *nvarsp) { CALL(Inq, ncid, 0, P(nvarsp), 0, 0, 0); }
int PIOc_inq_natts(int ncid, int *ngattsp) { CALL(Inq, ncid, 0, 0, P(ngattsp), 0, 0); }
int PIOc_inq_unlimdim(int ncid, int *unlimdimidp) { CALL(Inq, ncid, 0, 0, 0, P(unlimdimidp), 0); }

int PIOc_inq_unlimdims(int ncid, int *nunlimdimsp, int *unlimdimidsp) {
	int id = -1, rc = RUN(Inq, ncid, 0, 0, 0, P(&id), 0);
	if (!rc && nunlimdimsp)
		*nunlimdimsp = id >= 0;
	if (!rc && unlimdimidsp && id >= 0)
		*unlimdimidsp = id;
	return rc;
}

int PIOc_inq_type(int ncid, nc_type xtype, char *name, PIO_Offset *sizep) {
	static const struct {
		const char *name;
		int size;
	} types[] = {{"", 0},      {"byte", 1},  {"char", 1},   {"short", 2}, {"int", 4},   {"float", 4},  {"double", 8},
	             {"ubyte", 1}, {"ushort", 2}, {"uint", 4}, {"int64", 8}, {"uint64", 8}, {"string", sizeof(char *)}};
	int rc = RUN(Inq, ncid, 0, 0, 0, 0, 0);
	if (rc)
		return rc;
	if (xtype < PIO_BYTE || xtype > PIO_STRING)
		return blobio_pio_wrong(PIO_DEFAULT, PIO_EBADTYPE, "inq_type: want PIO_BYTE to PIO_STRING");
	if (name)
		strcpy(name, types[xtype].name);
	if (sizep)
		*sizep = types[xtype].size;
	return PIO_NOERR;
}

// --- dimensions

int PIOc_def_dim(int ncid, const char *name, PIO_Offset len, int *idp) { CALL(DefDim, ncid, P(name), len, P(idp)); }
int PIOc_rename_dim(int ncid, int dimid, const char *name) { CALL(RenameDim, ncid, dimid, P(name)); }
int PIOc_inq_dim(int ncid, int dimid, char *name, PIO_Offset *lenp) { CALL(InqDim, ncid, dimid, P(name), NAME_SIZE, P(lenp)); }
int PIOc_inq_dimid(int ncid, const char *name, int *idp) { CALL(InqDimID, ncid, P(name), P(idp)); }
int PIOc_inq_dimname(int ncid, int dimid, char *name) { CALL(InqDim, ncid, dimid, P(name), NAME_SIZE, 0); }
int PIOc_inq_dimlen(int ncid, int dimid, PIO_Offset *lenp) { CALL(InqDim, ncid, dimid, 0, 0, P(lenp)); }

// --- variables

int PIOc_def_var(int ncid, const char *name, nc_type xtype, int ndims, const int *dimidsp, int *varidp) {
	CALL(DefVar, ncid, P(name), xtype, ndims, P(dimidsp), P(varidp));
}

// varid may be NULL.
PIO_API int blobio_ncar_def_var(int ncid, const char *name, nc_type xtype, int ndims, const int *dimidsp, int *varidp) {
	int id;
	return PIOc_def_var(ncid, name, xtype, ndims, dimidsp, varidp ? varidp : &id);
}

int PIOc_rename_var(int ncid, int varid, const char *name) { CALL(RenameVar, ncid, varid, P(name)); }
int PIOc_def_var_fill(int ncid, int varid, int no_fill, const void *fill_value) { CALL(DefVarFill, ncid, varid, no_fill, P(fill_value)); }
int PIOc_inq_var_fill(int ncid, int varid, int *no_fill, void *fill_valuep) { CALL(InqVarFill, ncid, varid, P(no_fill), P(fill_valuep)); }

int PIOc_inq_var(int ncid, int varid, char *name, int namelen, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp) {
	CALL(InqVar, ncid, varid, P(name), namelen, P(xtypep), P(ndimsp), P(dimidsp), P(nattsp));
}

PIO_API int blobio_ncar_inq_var(int ncid, int varid, char *name, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp) {
	return PIOc_inq_var(ncid, varid, name, NAME_SIZE, xtypep, ndimsp, dimidsp, nattsp);
}

int PIOc_inq_varid(int ncid, const char *name, int *varidp) { CALL(InqVarID, ncid, P(name), P(varidp)); }
int PIOc_inq_varname(int ncid, int varid, char *name, int namelen) { return PIOc_inq_var(ncid, varid, name, namelen, NULL, NULL, NULL, NULL); }
PIO_API int blobio_ncar_inq_varname(int ncid, int varid, char *name) { return PIOc_inq_varname(ncid, varid, name, NAME_SIZE); }
int PIOc_inq_vartype(int ncid, int varid, nc_type *xtypep) { return PIOc_inq_var(ncid, varid, NULL, 0, xtypep, NULL, NULL, NULL); }
int PIOc_inq_varndims(int ncid, int varid, int *ndimsp) { return PIOc_inq_var(ncid, varid, NULL, 0, NULL, ndimsp, NULL, NULL); }
int PIOc_inq_vardimid(int ncid, int varid, int *dimidsp) { return PIOc_inq_var(ncid, varid, NULL, 0, NULL, NULL, dimidsp, NULL); }
int PIOc_inq_varnatts(int ncid, int varid, int *nattsp) { return PIOc_inq_var(ncid, varid, NULL, 0, NULL, NULL, NULL, nattsp); }

// --- storage of variables in files of netCDF-4 I/O types

enum { DEFLATE = 1, SHUFFLE = 2, SZIP = 4, BZIP2 = 307, ZSTANDARD = 32015 };

int PIOc_def_var_deflate(int ncid, int varid, int shuffle, int deflate, int deflate_level) { CALL(DefDeflate, ncid, varid, shuffle, deflate, deflate_level); }

// Returns 0 as level if the variable does not have the filter.
static int inq_filter(int ncid, int varid, unsigned id, int *hasp, int *levelp) {
	int has;
	unsigned params[2] = {0, 0}; // size maxParams of piofilter.go
	int rc = RUN(InqFilter, ncid, varid, id, P(&has), 0, P(params));
	if (!rc && hasp)
		*hasp = has;
	if (!rc && levelp)
		*levelp = (int)params[0];
	return rc;
}

int PIOc_inq_var_deflate(int ncid, int varid, int *shufflep, int *deflatep, int *deflate_levelp) {
	int rc = inq_filter(ncid, varid, SHUFFLE, shufflep, NULL);
	return rc ? rc : inq_filter(ncid, varid, DEFLATE, deflatep, deflate_levelp);
}

int PIOc_def_var_filter(int ncid, int varid, unsigned int id, size_t nparams, unsigned int *params) {
	CALL(DefFilter, ncid, varid, id, (whole)nparams, P(params));
}

int PIOc_inq_var_filter_ids(int ncid, int varid, size_t *nfiltersp, unsigned int *ids) { CALL(InqFilterIDs, ncid, varid, P(nfiltersp), P(ids)); }

int PIOc_inq_var_filter_info(int ncid, int varid, unsigned int id, size_t *nparamsp, unsigned int *params) {
	CALL(InqFilter, ncid, varid, id, 0, P(nparamsp), P(params));
}

int PIOc_inq_filter_avail(int ncid, unsigned int id) { CALL(FilterAvail, ncid, id); }

int PIOc_def_var_szip(int ncid, int varid, int options_mask, int pixels_per_block) {
	unsigned params[] = {(unsigned)options_mask, (unsigned)pixels_per_block};
	return PIOc_def_var_filter(ncid, varid, SZIP, 2, params);
}

#define COMPRESSION(name, ID)                                                                                          \
	int PIOc_def_var_##name(int ncid, int varid, int level) {                                                          \
		unsigned params[] = {(unsigned)level};                                                                         \
		return PIOc_def_var_filter(ncid, varid, ID, 1, params);                                                        \
	}                                                                                                                  \
	int PIOc_inq_var_##name(int ncid, int varid, int *hasfilterp, int *levelp) { return inq_filter(ncid, varid, ID, hasfilterp, levelp); }
COMPRESSION(bzip2, BZIP2)
COMPRESSION(zstandard, ZSTANDARD)

int PIOc_def_var_quantize(int ncid, int varid, int quantize_mode, int nsd) { CALL(DefQuantize, ncid, varid, quantize_mode, nsd); }
int PIOc_inq_var_quantize(int ncid, int varid, int *quantize_mode, int *nsdp) { CALL(InqQuantize, ncid, varid, P(quantize_mode), P(nsdp)); }
int PIOc_def_var_chunking(int ncid, int varid, int storage, const PIO_Offset *chunksizesp) { CALL(DefChunking, ncid, varid, storage, P(chunksizesp)); }
int PIOc_inq_var_chunking(int ncid, int varid, int *storagep, PIO_Offset *chunksizesp) { CALL(InqChunking, ncid, varid, P(storagep), P(chunksizesp)); }
int PIOc_def_var_endian(int ncid, int varid, int endian) { CALL(DefEndian, ncid, varid, endian); }
int PIOc_inq_var_endian(int ncid, int varid, int *endianp) { CALL(InqEndian, ncid, varid, P(endianp)); }

int PIOc_set_var_chunk_cache(int ncid, int varid, PIO_Offset size, PIO_Offset nelems, float preemption) {
	CALL(VarCache, ncid, varid, 1, P(&size), P(&nelems), P(&preemption));
}

int PIOc_get_var_chunk_cache(int ncid, int varid, PIO_Offset *sizep, PIO_Offset *nelemsp, float *preemptionp) {
	CALL(VarCache, ncid, varid, 0, P(sizep), P(nelemsp), P(preemptionp));
}

int PIOc_set_chunk_cache(int iosysid, int iotype, PIO_Offset size, PIO_Offset nelems, float preemption) {
	CALL(Cache, iosysid, iotype, 1, P(&size), P(&nelems), P(&preemption));
}

int PIOc_get_chunk_cache(int iosysid, int iotype, PIO_Offset *sizep, PIO_Offset *nelemsp, float *preemptionp) {
	CALL(Cache, iosysid, iotype, 0, P(sizep), P(nelemsp), P(preemptionp));
}

// --- attributes

int PIOc_rename_att(int ncid, int varid, const char *name, const char *newname) { CALL(RenameAtt, ncid, varid, P(name), P(newname)); }
int PIOc_del_att(int ncid, int varid, const char *name) { CALL(DelAtt, ncid, varid, P(name)); }
int PIOc_copy_att(int incid, int ivarid, const char *name, int oncid, int ovarid) { CALL(CopyAtt, incid, ivarid, P(name), oncid, ovarid); }

int PIOc_inq_att(int ncid, int varid, const char *name, nc_type *xtypep, PIO_Offset *lenp) { CALL(InqAtt, ncid, varid, P(name), P(xtypep), P(lenp), 0); }
int PIOc_inq_attid(int ncid, int varid, const char *name, int *idp) { CALL(InqAtt, ncid, varid, P(name), 0, 0, P(idp)); }
int PIOc_inq_attlen(int ncid, int varid, const char *name, PIO_Offset *lenp) { CALL(InqAtt, ncid, varid, P(name), 0, P(lenp), 0); }
int PIOc_inq_atttype(int ncid, int varid, const char *name, nc_type *xtypep) { CALL(InqAtt, ncid, varid, P(name), P(xtypep), 0, 0); }
int PIOc_inq_attname(int ncid, int varid, int attnum, char *name) { CALL(InqAttName, ncid, varid, attnum, P(name), NAME_SIZE); }

// Without a type in memory, the type of the attribute applies.
int PIOc_put_att(int ncid, int varid, const char *name, nc_type xtype, PIO_Offset len, const void *op) {
	CALL(PutAtt, ncid, varid, P(name), xtype, PIO_NAT, len, P(op));
}

int PIOc_get_att(int ncid, int varid, const char *name, void *ip) { CALL(GetAtt, ncid, varid, P(name), PIO_NAT, P(ip)); }

int PIOc_put_att_text(int ncid, int varid, const char *name, PIO_Offset len, const char *op) {
	CALL(PutAtt, ncid, varid, P(name), PIO_CHAR, PIO_CHAR, len, P(op));
}

int PIOc_get_att_text(int ncid, int varid, const char *name, char *ip) { CALL(GetAtt, ncid, varid, P(name), PIO_CHAR, P(ip)); }

#define ATT(suffix, type, mem, more)                                                                                   \
	int PIOc_put_att_##suffix(int ncid, int varid, const char *name, nc_type xtype, PIO_Offset len, const type *op) {  \
		CALL(PutAtt, ncid, varid, P(name), xtype, mem, len, P(op));                                                    \
	}                                                                                                                  \
	int PIOc_get_att_##suffix(int ncid, int varid, const char *name, type *ip) { CALL(GetAtt, ncid, varid, P(name), mem, P(ip)); }
PIO_NUMBERS(ATT, )

// --- decomposed data

int PIOc_setframe(int ncid, int varid, int frame) { CALL(SetFrame, ncid, varid, frame, 0); }
int PIOc_advanceframe(int ncid, int varid) { CALL(AdvanceFrame, ncid, varid, 0); }
PIO_API int blobio_ncar_setframe(int ncid, int varid, int frame) { CALL(SetFrame, ncid, varid, frame, PIO_OF_NCAR); }
PIO_API int blobio_ncar_advanceframe(int ncid, int varid) { CALL(AdvanceFrame, ncid, varid, PIO_OF_NCAR); }

int PIOc_write_darray(int ncid, int varid, int ioid, PIO_Offset arraylen, const void *array, const void *fillvalue) {
	CALL(WriteDarray, ncid, 1, P(&varid), ioid, arraylen, P(array), 0, P(fillvalue), 0, 0);
}

int PIOc_write_darray_multi(int ncid, const int *varids, int ioid, int nvars, PIO_Offset arraylen, const void *array, const int *frame,
                            const void **fillvalue, bool flushtodisk) {
	CALL(WriteDarray, ncid, nvars, P(varids), ioid, arraylen, P(array), P(frame), P(fillvalue), PIO_MULTI, flushtodisk);
}

PIO_API int blobio_ncar_write_darray_multi(int ncid, const int *varids, int ioid, int nvars, PIO_Offset arraylen, void *array, const int *frame,
                                           void **fillvalue, bool flushtodisk) {
	CALL(WriteDarray, ncid, nvars, P(varids), ioid, arraylen, P(array), P(frame), P(fillvalue), PIO_MULTI | PIO_OF_NCAR, flushtodisk);
}

int PIOc_read_darray(int ncid, int varid, int ioid, PIO_Offset arraylen, void *array) { CALL(ReadDarray, ncid, varid, ioid, arraylen, P(array)); }

// --- data of arrays

static int put(int ncid, int varid, int much, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, const PIO_Offset *imap, int mem,
               const void *buf) {
	CALL(Put, ncid, varid, much, P(start), P(count), P(stride), P(imap), mem, P(buf));
}

static int get(int ncid, int varid, int much, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, const PIO_Offset *imap, int mem,
               void *buf) {
	CALL(Get, ncid, varid, much, P(start), P(count), P(stride), P(imap), mem, P(buf));
}

int PIOc_put_var(int ncid, int varid, const void *buf) { return put(ncid, varid, PIO_WHOLE, NULL, NULL, NULL, NULL, PIO_NAT, buf); }
int PIOc_get_var(int ncid, int varid, void *buf) { return get(ncid, varid, PIO_WHOLE, NULL, NULL, NULL, NULL, PIO_NAT, buf); }
int PIOc_put_var1(int ncid, int varid, const PIO_Offset *index, const void *buf) { return put(ncid, varid, PIO_ONE, index, NULL, NULL, NULL, PIO_NAT, buf); }
int PIOc_get_var1(int ncid, int varid, const PIO_Offset *index, void *buf) { return get(ncid, varid, PIO_ONE, index, NULL, NULL, NULL, PIO_NAT, buf); }

int PIOc_put_vara(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const void *buf) {
	return put(ncid, varid, PIO_PART, start, count, NULL, NULL, PIO_NAT, buf);
}

int PIOc_get_vara(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, void *buf) {
	return get(ncid, varid, PIO_PART, start, count, NULL, NULL, PIO_NAT, buf);
}

int PIOc_put_vars(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, const void *buf) {
	return put(ncid, varid, PIO_PART, start, count, stride, NULL, PIO_NAT, buf);
}

int PIOc_get_vars(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, void *buf) {
	return get(ncid, varid, PIO_PART, start, count, stride, NULL, PIO_NAT, buf);
}

// Returns the PIO type for an MPI type: PIO_NAT for bytes, which have the variable's type, and -1 for types that PIO lacks.
static int type_of(MPI_Datatype t) {
	if (t == MPI_DATATYPE_NULL || t == MPI_BYTE)
		return PIO_NAT;
#define OF(mpi, pio) if (t == (mpi)) return pio;
	OF(MPI_CHAR, PIO_CHAR) OF(MPI_SIGNED_CHAR, PIO_BYTE) OF(MPI_UNSIGNED_CHAR, PIO_UBYTE) OF(MPI_SHORT, PIO_SHORT) OF(MPI_UNSIGNED_SHORT, PIO_USHORT)
	OF(MPI_INT, PIO_INT) OF(MPI_UNSIGNED, PIO_UINT) OF(MPI_LONG_LONG, PIO_INT64) OF(MPI_UNSIGNED_LONG_LONG, PIO_UINT64) OF(MPI_FLOAT, PIO_FLOAT)
	OF(MPI_DOUBLE, PIO_DOUBLE) OF(MPI_LONG, sizeof(long) == 8 ? PIO_INT64 : PIO_INT) OF(MPI_OFFSET, PIO_INT64)
	return -1;
}

int PIOc_put_varm(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, const PIO_Offset *imap, const void *buf,
                  PIO_Offset bufcount, MPI_Datatype buftype) {
	(void)bufcount; // count already gives the size
	return put(ncid, varid, PIO_PART, start, count, stride, imap, type_of(buftype), buf);
}

int PIOc_get_varm(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, const PIO_Offset *imap, void *buf,
                  PIO_Offset bufcount, MPI_Datatype buftype) {
	(void)bufcount;
	return get(ncid, varid, PIO_PART, start, count, stride, imap, type_of(buftype), buf);
}

int PIOc_put_vard(int ncid, int varid, int decompid, const PIO_Offset recnum, const void *buf) { CALL(PutFrame, ncid, varid, decompid, recnum, PIO_NAT, P(buf)); }
int PIOc_get_vard(int ncid, int varid, int decompid, const PIO_Offset recnum, void *buf) { CALL(GetFrame, ncid, varid, decompid, recnum, PIO_NAT, P(buf)); }

#define TYPED(suffix, type, mem, more)                                                                                 \
	int PIOc_put_var_##suffix(int ncid, int varid, const type *op) { return put(ncid, varid, PIO_WHOLE, NULL, NULL, NULL, NULL, mem, op); } \
	int PIOc_get_var_##suffix(int ncid, int varid, type *buf) { return get(ncid, varid, PIO_WHOLE, NULL, NULL, NULL, NULL, mem, buf); } \
	int PIOc_put_var1_##suffix(int ncid, int varid, const PIO_Offset *index, const type *op) {                         \
		return put(ncid, varid, PIO_ONE, index, NULL, NULL, NULL, mem, op);                                            \
	}                                                                                                                  \
	int PIOc_get_var1_##suffix(int ncid, int varid, const PIO_Offset *index, type *buf) {                              \
		return get(ncid, varid, PIO_ONE, index, NULL, NULL, NULL, mem, buf);                                           \
	}                                                                                                                  \
	int PIOc_put_vara_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const type *op) { \
		return put(ncid, varid, PIO_PART, start, count, NULL, NULL, mem, op);                                          \
	}                                                                                                                  \
	int PIOc_get_vara_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, type *buf) {     \
		return get(ncid, varid, PIO_PART, start, count, NULL, NULL, mem, buf);                                         \
	}                                                                                                                  \
	int PIOc_put_vars_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, const type *op) { \
		return put(ncid, varid, PIO_PART, start, count, stride, NULL, mem, op);                                        \
	}                                                                                                                  \
	int PIOc_get_vars_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, type *buf) { \
		return get(ncid, varid, PIO_PART, start, count, stride, NULL, mem, buf);                                       \
	}                                                                                                                  \
	int PIOc_put_varm_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, \
	                           const PIO_Offset *imap, const type *op) {                                               \
		return put(ncid, varid, PIO_PART, start, count, stride, imap, mem, op);                                        \
	}                                                                                                                  \
	int PIOc_get_varm_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, \
	                           const PIO_Offset *imap, type *buf) {                                                    \
		return get(ncid, varid, PIO_PART, start, count, stride, imap, mem, buf);                                       \
	}                                                                                                                  \
	int PIOc_put_vard_##suffix(int ncid, int varid, int decompid, const PIO_Offset recnum, const type *op) {           \
		CALL(PutFrame, ncid, varid, decompid, recnum, mem, P(op));                                                     \
	}                                                                                                                  \
	int PIOc_get_vard_##suffix(int ncid, int varid, int decompid, const PIO_Offset recnum, type *buf) {                \
		CALL(GetFrame, ncid, varid, decompid, recnum, mem, P(buf));                                                    \
	}
PIO_TYPES(TYPED, )

// --- netCDF's functions with NC_PIO. nc_create belongs to netCDF, so its files cannot be PIO files

static int no_integration(void) {
	return blobio_pio_wrong(PIO_DEFAULT, PIO_ENOTBUILT, "PIO files through the functions of netCDF (NC_PIO) are not supported: use PIOc_createfile and the other functions of pio.h");
}

#define NOT_BUILT(name, ...) PIO_API int name(__VA_ARGS__) { return no_integration(); }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOT_BUILT(nc_def_iosystem, MPI_Comm comp_comm, int num_iotasks, int stride, int base, int rearr, int *iosysidp)
NOT_BUILT(nc_def_async, MPI_Comm world, int num_io_procs, int *io_proc_list, int component_count, int *num_procs_per_comp, int **proc_list,
          MPI_Comm *io_comm, MPI_Comm *comp_comm, int rearranger, int *iosysidp)
NOT_BUILT(nc_set_iosystem, int iosysid)
NOT_BUILT(nc_get_iosystem, int *iosysid)
NOT_BUILT(nc_free_iosystem, int iosysid)
NOT_BUILT(nc_def_decomp, int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const size_t *compmap, int *ioidp, int rearranger,
          const size_t *iostart, const size_t *iocount)
NOT_BUILT(nc_free_decomp, int ioid)
NOT_BUILT(nc_put_vard, int ncid, int varid, int decompid, const size_t recnum, const void *buf)
NOT_BUILT(nc_get_vard, int ncid, int varid, int decompid, const size_t recnum, void *buf)
#define NC_VARD(suffix, type, mem, more)                                                                               \
	NOT_BUILT(nc_put_vard_##suffix, int ncid, int varid, int decompid, const size_t recnum, const type *op)            \
	NOT_BUILT(nc_get_vard_##suffix, int ncid, int varid, int decompid, const size_t recnum, type *buf)
PIO_TYPES(NC_VARD, )
#pragma GCC diagnostic pop

// --- the version of SCORPIO that has these declarations

int PIOc_get_version_major(void) { return 2; }
int PIOc_get_version_minor(void) { return 0; }
int PIOc_get_version_patch(void) { return 1; }

int PIOc_get_version_string(char *vstr, int len) {
	if (!vstr || len <= 0)
		return blobio_pio_wrong(PIO_DEFAULT, PIO_EINVAL, "get_version: no buffer");
	snprintf(vstr, (size_t)len, "2.0.1 (blobio %s)", blobio_version());
	return PIO_NOERR;
}

int PIOc_get_version_hash(char *vstr, int len) {
	if (!vstr || len <= 0)
		return blobio_pio_wrong(PIO_DEFAULT, PIO_EINVAL, "get_version: no buffer");
	snprintf(vstr, (size_t)len, "blobio %s", blobio_version());
	return PIO_NOERR;
}

int PIOc_get_version(int *major, int *minor, int *patch, char *vstr, int vstr_len) {
	if (major)
		*major = PIOc_get_version_major();
	if (minor)
		*minor = PIOc_get_version_minor();
	if (patch)
		*patch = PIOc_get_version_patch();
	return vstr ? PIOc_get_version_string(vstr, vstr_len) : PIO_NOERR;
}
