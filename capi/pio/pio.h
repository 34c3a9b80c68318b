/* PIO's C API over blobio: programs written for PIO compile with this header and link to libblobio_pio.
 *
 * PIO's documentation describes the functions. There are two different libraries with the name PIO. This header declares
 * SCORPIO's functions, or NCAR's (ParallelIO) if PIO_NCAR is defined before the header is included. Every call on a file, except
 * inquiries, is collective over the ranks of its I/O system. Like the headers of both libraries, this header includes netcdf.h
 * if it is installed, but does not need it. */
#ifndef _PIO_H_
#define _PIO_H_

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include) && !defined(BLOBIO_PIO_NO_NETCDF)
#if __has_include(<netcdf.h>)
#include <netcdf.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PIO_API
#if defined(__GNUC__)
#define PIO_API __attribute__((visibility("default")))
#else
#define PIO_API
#endif
#endif

typedef MPI_Offset PIO_Offset;
#define PIO_OFFSET MPI_OFFSET
typedef int nc_type;

/* --- constants, with netCDF's values where netCDF has the same names */

#define PIO_DEFAULT (-1) /* used as the id of an I/O system: all I/O systems that are created later */
#define PIO_GLOBAL (-1)
#define PIO_UNLIMITED 0L

#define PIO_NAT 0
#define PIO_BYTE 1
#define PIO_CHAR 2
#define PIO_SHORT 3
#define PIO_INT 4
#define PIO_FLOAT 5
#define PIO_REAL 5
#define PIO_DOUBLE 6
#define PIO_UBYTE 7
#define PIO_USHORT 8
#define PIO_UINT 9
#define PIO_INT64 10
#define PIO_UINT64 11
#define PIO_STRING 12

#define PIO_NOWRITE 0x0000
#define PIO_WRITE 0x0001
#define PIO_CLOBBER 0x0000
#define PIO_NOCLOBBER 0x0004
#define PIO_FILL 0
#define PIO_NOFILL 0x100
#define PIO_64BIT_OFFSET 0x0200
#define PIO_64BIT_DATA 0x0020

#define PIO_MAX_NAME 256
#define PIO_MAX_DIMS 1024
#define PIO_MAX_VAR_DIMS 1024
#define PIO_MAX_VARS 8192
#define PIO_MAX_ATTRS 8192

#define PIO_FILL_BYTE ((signed char)-127)
#define PIO_FILL_CHAR ((char)0)
#define PIO_FILL_SHORT ((short)-32767)
#define PIO_FILL_INT (-2147483647)
#define PIO_FILL_FLOAT (9.9692099683868690e+36f)
#define PIO_FILL_DOUBLE (9.9692099683868690e+36)
#define PIO_FILL_UBYTE (255)
#define PIO_FILL_USHORT (65535)
#define PIO_FILL_UINT (4294967295U)
#define PIO_FILL_INT64 ((long long)-9223372036854775806LL)
#define PIO_FILL_UINT64 ((unsigned long long)18446744073709551614ULL)

#define PIO_NOQUANTIZE 0
#define PIO_QUANTIZE_BITGROOM 1
#define PIO_QUANTIZE_GRANULARBR 2
#define PIO_QUANTIZE_BITROUND 3

#define PIO_NOERR 0
#define PIO_EBADID (-33)
#define PIO_ENFILE (-34)
#define PIO_EEXIST (-35)
#define PIO_EINVAL (-36)
#define PIO_EPERM (-37)
#define PIO_ENOTINDEFINE (-38)
#define PIO_EINDEFINE (-39)
#define PIO_EINVALCOORDS (-40)
#define PIO_EMAXDIMS (-41)
#define PIO_ENAMEINUSE (-42)
#define PIO_ENOTATT (-43)
#define PIO_EMAXATTS (-44)
#define PIO_EBADTYPE (-45)
#define PIO_EBADDIM (-46)
#define PIO_EUNLIMPOS (-47)
#define PIO_EMAXVARS (-48)
#define PIO_ENOTVAR (-49)
#define PIO_EGLOBAL (-50)
#define PIO_ENOTNC (-51)
#define PIO_ESTS (-52)
#define PIO_EMAXNAME (-53)
#define PIO_EUNLIMIT (-54)
#define PIO_ENORECVARS (-55)
#define PIO_ECHAR (-56)
#define PIO_EEDGE (-57)
#define PIO_ESTRIDE (-58)
#define PIO_EBADNAME (-59)
#define PIO_ERANGE (-60)
#define PIO_ENOMEM (-61)
#define PIO_EVARSIZE (-62)
#define PIO_EDIMSIZE (-63)
#define PIO_ETRUNC (-64)
#define PIO_EAXISTYPE (-65)
#define PIO_EDAP (-66)
#define PIO_ECURL (-67)
#define PIO_EIO (-68)
#define PIO_ENODATA (-69)
#define PIO_EDAPSVC (-70)
#define PIO_EDAS (-71)
#define PIO_EDDS (-72)
#define PIO_EDATADDS (-73)
#define PIO_EDAPURL (-74)
#define PIO_EDAPCONSTRAINT (-75)
#define PIO_ETRANSLATION (-76)
#define PIO_EHDFERR (-101)
#define PIO_ECANTREAD (-102)
#define PIO_ECANTWRITE (-103)
#define PIO_ECANTCREATE (-104)
#define PIO_EFILEMETA (-105)
#define PIO_EDIMMETA (-106)
#define PIO_EATTMETA (-107)
#define PIO_EVARMETA (-108)
#define PIO_ENOCOMPOUND (-109)
#define PIO_EATTEXISTS (-110)
#define PIO_ENOTNC4 (-111)
#define PIO_ESTRICTNC3 (-112)
#define PIO_ENOTNC3 (-113)
#define PIO_ENOPAR (-114)
#define PIO_EPARINIT (-115)
#define PIO_EBADGRPID (-116)
#define PIO_EBADTYPID (-117)
#define PIO_ETYPDEFINED (-118)
#define PIO_EBADFIELD (-119)
#define PIO_EBADCLASS (-120)
#define PIO_EMAPTYPE (-121)
#define PIO_ELATEFILL (-122)
#define PIO_ELATEDEF (-123)
#define PIO_EDIMSCALE (-124)
#define PIO_ENOGRP (-125)
#define PIO_ESTORAGE (-126)
#define PIO_EBADCHUNK (-127)
#define PIO_ENOTBUILT (-128)
#define PIO_EDISKLESS (-129)
#define PIO_ENOFILTER (-136)
#define PIO_EINDEP (-203)
#define PIO_EINSUFFBUF (-219)
#define PIO_REQ_NULL (-1)
#define PIO_FIRST_ERROR_CODE (-500)
#define PIO_EBADIOTYPE (-500)
#ifdef PIO_NCAR
#define PIO_EVARDIMMISMATCH (-501)
#define PIO_EBADREARR (-502)
#else
#define PIO_EINTERNAL (-501)
#endif

/* Names that netCDF files with decompositions use. */
#ifdef PIO_NCAR
#define DECOMP_VERSION_ATT_NAME "PIO_library_version"
#else
#define DECOMP_VERSION_ATT_NAME "version"
#endif
#define DECOMP_MAX_MAPLEN_ATT_NAME "max_maplen"
#define DECOMP_TITLE_ATT_NAME "title"
#define DECOMP_HISTORY_ATT_NAME "history"
#define DECOMP_SOURCE_ATT_NAME "source"
#define DECOMP_ORDER_ATT_NAME "array_order"
#define DECOMP_BACKTRACE_ATT_NAME "backtrace"
#define DECOMP_DIM_DIM "dims"
#define DECOMP_TASK_DIM_NAME "task"
#define DECOMP_MAPELEM_DIM_NAME "map_element"
#define DECOMP_NDIMS "ndims"
#define DECOMP_GLOBAL_SIZE_VAR_NAME "global_size"
#define DECOMP_MAPLEN_VAR_NAME "maplen"
#define DECOMP_MAP_VAR_NAME "map"
#define DECOMP_C_ORDER_STR "C"
#define DECOMP_FORTRAN_ORDER_STR "Fortran"

/* All types are accepted. Written files are always blob datasets, and opened files are recognized by content. */
enum PIO_IOTYPE {
	PIO_IOTYPE_PNETCDF = 1,
	PIO_IOTYPE_NETCDF = 2,
	PIO_IOTYPE_NETCDF4C = 3,
	PIO_IOTYPE_NETCDF4P = 4,
#ifdef PIO_NCAR
	PIO_IOTYPE_GDAL = 5
#else
	PIO_IOTYPE_NETCDF4P_NCZARR = 5,
	PIO_IOTYPE_ADIOS = 6,
	PIO_IOTYPE_ADIOSC = 7,
	PIO_IOTYPE_HDF5 = 8,
	PIO_IOTYPE_HDF5C = 9
#endif
};

/* Accepted, but without effect. */
enum PIO_REARRANGERS {
	PIO_REARR_BOX = 1,
	PIO_REARR_SUBSET = 2,
#ifndef PIO_NCAR
	PIO_REARR_ANY = 3,
	PIO_REARR_CONTIG = 4
#endif
};

enum PIO_ERROR_HANDLERS {
	PIO_INTERNAL_ERROR = -51, /* an error aborts the job */
	PIO_BCAST_ERROR = -52,    /* all ranks return the error's code */
#ifdef PIO_NCAR
	PIO_RETURN_ERROR = -53
#else
	PIO_REDUCE_ERROR = -53,
	PIO_RETURN_ERROR = -54
#endif
};

enum PIO_REARR_COMM_TYPE { PIO_REARR_COMM_P2P = 0, PIO_REARR_COMM_COLL };

enum PIO_REARR_COMM_FC_DIR {
	PIO_REARR_COMM_FC_2D_ENABLE = 0,
	PIO_REARR_COMM_FC_1D_COMP2IO,
	PIO_REARR_COMM_FC_1D_IO2COMP,
	PIO_REARR_COMM_FC_2D_DISABLE
};

#define PIO_REARR_COMM_UNLIMITED_PEND_REQ -1

typedef struct rearr_comm_fc_opt {
	bool hs;
	bool isend;
	int max_pend_req;
} rearr_comm_fc_opt_t;

typedef struct rearr_opt {
	int comm_type;
	int fcd;
	rearr_comm_fc_opt_t comp2io;
	rearr_comm_fc_opt_t io2comp;
} rearr_opt_t;

/* Functions with the same declaration but a different behaviour in NCAR's library. For an unknown I/O type they return
 * PIO_EINVAL (SCORPIO: PIO_EBADIOTYPE). def_var accepts NULL for the address of the variable's id. In setframe, advanceframe
 * and write_darray_multi, a variable id beyond PIO_MAX_VARS is PIO_ENOTVAR (SCORPIO: PIO_EINVAL). write_darray requires the
 * variable's fill value. With netCDF-4 I/O types, redef in define mode succeeds (SCORPIO: an error). Map offsets beyond the
 * end of the array wrap around to 1 (SCORPIO: PIO_EINVAL). In a decomposition file, the attribute with the version has a
 * different name. The first call of set_buffer_size_limit returns 128 MiB (SCORPIO: 64 MiB). */
#ifdef PIO_NCAR
#define PIOc_InitDecomp blobio_ncar_InitDecomp
#define PIOc_InitDecomp_ReadOnly blobio_ncar_InitDecomp_ReadOnly
#define PIOc_init_decomp blobio_ncar_init_decomp
#define PIOc_createfile blobio_ncar_createfile
#define PIOc_create blobio_ncar_create
#define PIOc_openfile blobio_ncar_openfile
#define PIOc_openfile2 blobio_ncar_openfile
#define PIOc_open blobio_ncar_open
#define PIOc_def_var blobio_ncar_def_var
#define PIOc_setframe blobio_ncar_setframe
#define PIOc_advanceframe blobio_ncar_advanceframe
#define PIOc_set_buffer_size_limit blobio_ncar_set_buffer_size_limit
#endif

/* --- I/O systems */

PIO_API int PIOc_Init_Intracomm(MPI_Comm comp_comm, int num_iotasks, int stride, int base, int rearr, int *iosysidp);
PIO_API int PIOc_Init_Intracomm_from_F90(int f90_comp_comm, const int num_iotasks, const int stride, const int base, const int rearr,
                                         rearr_opt_t *rearr_opts, int *iosysidp);
PIO_API int PIOc_finalize(int iosysid);
PIO_API int PIOc_free_iosystem(int iosysid);
PIO_API int PIOc_Set_IOSystem_Error_Handling(int iosysid, int method);
PIO_API int PIOc_set_iosystem_error_handling(int iosysid, int method, int *old_method);
PIO_API int PIOc_Set_File_Error_Handling(int ncid, int method);
PIO_API int PIOc_get_numiotasks(int iosysid, int *numiotasks);
PIO_API int PIOc_iam_iotask(int iosysid, bool *ioproc);
PIO_API int PIOc_iotask_rank(int iosysid, int *iorank);
PIO_API int PIOc_iosystem_is_active(int iosysid, bool *active);
PIO_API int PIOc_get_iosystem(int ncid);
PIO_API int PIOc_iotype_available(int iotype);
PIO_API int PIOc_set_rearr_opts(int iosysid, int comm_type, int fcd, bool enable_hs_c2i, bool enable_isend_c2i, int max_pend_req_c2i,
                                bool enable_hs_i2c, bool enable_isend_i2c, int max_pend_req_i2c);
PIO_API int PIOc_set_hint(int iosysid, const char *hint, const char *hintval);
PIO_API int PIOc_set_blocksize(int newblocksize);
PIO_API PIO_Offset PIOc_set_buffer_size_limit(PIO_Offset limit);
PIO_API int PIOc_set_log_level(int level);
PIO_API int PIOc_set_global_log_level(int iosysid, int level);

/* For dedicated I/O ranks, which are not supported: these functions return PIO_ENOTBUILT. */
PIO_API int PIOc_init_async(MPI_Comm world, int num_io_procs, const int *io_proc_list, int component_count, const int *num_procs_per_comp,
                            const int **proc_list, MPI_Comm *io_comm, MPI_Comm *comp_comm, int rearranger, int *iosysidp);
PIO_API int PIOc_init_async_from_comms(MPI_Comm world, int component_count, MPI_Comm *comp_comm, MPI_Comm io_comm, int rearranger, int *iosysidp);
PIO_API int PIOc_init_intercomm(int component_count, const MPI_Comm peer_comm, const MPI_Comm *ucomp_comms, const MPI_Comm uio_comm,
                                int rearranger, int *iosysidps);
PIO_API int PIOc_Init_Intercomm_from_F90(int component_count, int f90_peer_comm, const int *f90_comp_comms, int f90_io_comm,
                                         int rearranger, int *iosysidps);

/* --- decompositions */

PIO_API int PIOc_InitDecomp(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                            const int *rearr, const PIO_Offset *iostart, const PIO_Offset *iocount);
PIO_API int PIOc_InitDecomp_ReadOnly(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                                     const int *rearr, const PIO_Offset *iostart, const PIO_Offset *iocount);
PIO_API int PIOc_InitDecomp_bc(int iosysid, int basetype, int ndims, const int *gdimlen, const long int *start, const long int *count, int *ioidp);
PIO_API int PIOc_init_decomp(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const PIO_Offset *compmap, int *ioidp,
                             int rearranger, const PIO_Offset *iostart, const PIO_Offset *iocount);
PIO_API int PIOc_freedecomp(int iosysid, int ioid);
PIO_API int PIOc_get_local_array_size(int ioid);

/* --- files */

PIO_API int PIOc_createfile(int iosysid, int *ncidp, const int *iotype, const char *fname, int mode);
PIO_API int PIOc_create(int iosysid, const char *path, int cmode, int *ncidp);
PIO_API int PIOc_openfile(int iosysid, int *ncidp, int *iotype, const char *fname, int mode);
PIO_API int PIOc_openfile2(int iosysid, int *ncidp, int *iotype, const char *fname, int mode);
PIO_API int PIOc_openfile_retry(int iosysid, int *ncidp, int *iotype, const char *filename, int mode, int retry);
PIO_API int PIOc_open(int iosysid, const char *path, int mode, int *ncidp);
PIO_API int PIOc_closefile(int ncid);
PIO_API int PIOc_deletefile(int iosysid, const char *filename);
PIO_API int PIOc_File_is_Open(int ncid);
PIO_API int PIOc_sync(int ncid);
PIO_API int PIOc_redef(int ncid);
PIO_API int PIOc_enddef(int ncid);
PIO_API int PIOc_set_fill(int ncid, int fillmode, int *old_modep);
PIO_API int PIOc_inq(int ncid, int *ndimsp, int *nvarsp, int *ngattsp, int *unlimdimidp);
PIO_API int PIOc_inq_format(int ncid, int *formatp);
PIO_API int PIOc_inq_ndims(int ncid, int *ndimsp);
PIO_API int PIOc_inq_nvars(int ncid, int *nvarsp);
PIO_API int PIOc_inq_natts(int ncid, int *ngattsp);
PIO_API int PIOc_inq_unlimdim(int ncid, int *unlimdimidp);
PIO_API int PIOc_inq_unlimdims(int ncid, int *nunlimdimsp, int *unlimdimidsp);
PIO_API int PIOc_inq_type(int ncid, nc_type xtype, char *name, PIO_Offset *sizep);

/* --- dimensions */

PIO_API int PIOc_def_dim(int ncid, const char *name, PIO_Offset len, int *idp);
PIO_API int PIOc_rename_dim(int ncid, int dimid, const char *name);
PIO_API int PIOc_inq_dim(int ncid, int dimid, char *name, PIO_Offset *lenp);
PIO_API int PIOc_inq_dimid(int ncid, const char *name, int *idp);
PIO_API int PIOc_inq_dimname(int ncid, int dimid, char *name);
PIO_API int PIOc_inq_dimlen(int ncid, int dimid, PIO_Offset *lenp);

/* --- variables */

PIO_API int PIOc_def_var(int ncid, const char *name, nc_type xtype, int ndims, const int *dimidsp, int *varidp);
PIO_API int PIOc_rename_var(int ncid, int varid, const char *name);
PIO_API int PIOc_def_var_fill(int ncid, int varid, int no_fill, const void *fill_value);
PIO_API int PIOc_inq_var_fill(int ncid, int varid, int *no_fill, void *fill_valuep);
PIO_API int PIOc_inq_varid(int ncid, const char *name, int *varidp);
PIO_API int PIOc_inq_vartype(int ncid, int varid, nc_type *xtypep);
PIO_API int PIOc_inq_varndims(int ncid, int varid, int *ndimsp);
PIO_API int PIOc_inq_vardimid(int ncid, int varid, int *dimidsp);
PIO_API int PIOc_inq_varnatts(int ncid, int varid, int *nattsp);

/* netCDF-4 storage settings, for files of the I/O types PIO_IOTYPE_NETCDF4C to NETCDF4P_NCZARR. For files of other types they
 * return PIO_ENOTNC4. Settings are checked, kept while the file is open, and returned by inquiries. They do not change the
 * written data, because blobs have no chunks, filters or caches. */
PIO_API int PIOc_def_var_deflate(int ncid, int varid, int shuffle, int deflate, int deflate_level);
PIO_API int PIOc_inq_var_deflate(int ncid, int varid, int *shufflep, int *deflatep, int *deflate_levelp);
PIO_API int PIOc_def_var_chunking(int ncid, int varid, int storage, const PIO_Offset *chunksizesp);
PIO_API int PIOc_inq_var_chunking(int ncid, int varid, int *storagep, PIO_Offset *chunksizesp);
PIO_API int PIOc_def_var_endian(int ncid, int varid, int endian);
PIO_API int PIOc_inq_var_endian(int ncid, int varid, int *endianp);
PIO_API int PIOc_set_var_chunk_cache(int ncid, int varid, PIO_Offset size, PIO_Offset nelems, float preemption);
PIO_API int PIOc_get_var_chunk_cache(int ncid, int varid, PIO_Offset *sizep, PIO_Offset *nelemsp, float *preemptionp);
PIO_API int PIOc_set_chunk_cache(int iosysid, int iotype, PIO_Offset size, PIO_Offset nelems, float preemption);
PIO_API int PIOc_get_chunk_cache(int iosysid, int iotype, PIO_Offset *sizep, PIO_Offset *nelemsp, float *preemptionp);
PIO_API int PIOc_def_var_filter(int ncid, int varid, unsigned int id, size_t nparams, unsigned int *params);
PIO_API int PIOc_inq_var_filter_ids(int ncid, int varid, size_t *nfiltersp, unsigned int *ids);
PIO_API int PIOc_inq_var_filter_info(int ncid, int varid, unsigned int id, size_t *nparamsp, unsigned int *params);
PIO_API int PIOc_inq_filter_avail(int ncid, unsigned int id);
PIO_API int PIOc_def_var_szip(int ncid, int varid, int options_mask, int pixels_per_block);
PIO_API int PIOc_def_var_bzip2(int ncid, int varid, int level);
PIO_API int PIOc_inq_var_bzip2(int ncid, int varid, int *hasfilterp, int *levelp);
PIO_API int PIOc_def_var_zstandard(int ncid, int varid, int level);
PIO_API int PIOc_inq_var_zstandard(int ncid, int varid, int *hasfilterp, int *levelp);
PIO_API int PIOc_def_var_quantize(int ncid, int varid, int quantize_mode, int nsd);
PIO_API int PIOc_inq_var_quantize(int ncid, int varid, int *quantize_mode, int *nsdp);

/* --- attributes */

PIO_API int PIOc_rename_att(int ncid, int varid, const char *name, const char *newname);
PIO_API int PIOc_del_att(int ncid, int varid, const char *name);
PIO_API int PIOc_copy_att(int incid, int ivarid, const char *name, int oncid, int ovarid);
PIO_API int PIOc_inq_att(int ncid, int varid, const char *name, nc_type *xtypep, PIO_Offset *lenp);
PIO_API int PIOc_inq_attid(int ncid, int varid, const char *name, int *idp);
PIO_API int PIOc_inq_attlen(int ncid, int varid, const char *name, PIO_Offset *lenp);
PIO_API int PIOc_inq_atttype(int ncid, int varid, const char *name, nc_type *xtypep);
PIO_API int PIOc_inq_attname(int ncid, int varid, int attnum, char *name);
PIO_API int PIOc_put_att(int ncid, int varid, const char *name, nc_type xtype, PIO_Offset len, const void *op);
PIO_API int PIOc_get_att(int ncid, int varid, const char *name, void *ip);
PIO_API int PIOc_put_att_text(int ncid, int varid, const char *name, PIO_Offset len, const char *op);
PIO_API int PIOc_get_att_text(int ncid, int varid, const char *name, char *ip);

/* --- decomposed data */

PIO_API int PIOc_setframe(int ncid, int varid, int frame);
PIO_API int PIOc_advanceframe(int ncid, int varid);
PIO_API int PIOc_read_darray(int ncid, int varid, int ioid, PIO_Offset arraylen, void *array);

/* --- data that are not decomposed: in the variable's type, or in a type of memory */

PIO_API int PIOc_put_var(int ncid, int varid, const void *buf);
PIO_API int PIOc_get_var(int ncid, int varid, void *buf);
PIO_API int PIOc_put_var1(int ncid, int varid, const PIO_Offset *index, const void *buf);
PIO_API int PIOc_get_var1(int ncid, int varid, const PIO_Offset *index, void *buf);
PIO_API int PIOc_put_vara(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const void *buf);
PIO_API int PIOc_get_vara(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, void *buf);
PIO_API int PIOc_put_vars(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, const void *buf);
PIO_API int PIOc_get_vars(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride, void *buf);
PIO_API int PIOc_put_varm(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride,
                          const PIO_Offset *imap, const void *buf, PIO_Offset bufcount, MPI_Datatype buftype);
PIO_API int PIOc_get_varm(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const PIO_Offset *stride,
                          const PIO_Offset *imap, void *buf, PIO_Offset bufcount, MPI_Datatype buftype);

/* The types in memory: X(suffix, C type, PIO type, more). */
#define PIO_NUMBERS(X, more)                                                                                                \
	X(schar, signed char, PIO_BYTE, more) X(uchar, unsigned char, PIO_UBYTE, more)                                          \
	X(short, short, PIO_SHORT, more) X(ushort, unsigned short, PIO_USHORT, more)                                            \
	X(int, int, PIO_INT, more) X(uint, unsigned int, PIO_UINT, more)                                                        \
	X(long, long, (sizeof(long) == 8 ? PIO_INT64 : PIO_INT), more)                                                          \
	X(longlong, long long, PIO_INT64, more) X(ulonglong, unsigned long long, PIO_UINT64, more)                              \
	X(float, float, PIO_FLOAT, more) X(double, double, PIO_DOUBLE, more)
#define PIO_TYPES(X, more) X(text, char, PIO_CHAR, more) PIO_NUMBERS(X, more)

#define PIO_DECLARE(suffix, type, mem, more)                                                                              \
	PIO_API int PIOc_put_var_##suffix(int ncid, int varid, const type *op);                                                 \
	PIO_API int PIOc_get_var_##suffix(int ncid, int varid, type *buf);                                                      \
	PIO_API int PIOc_put_var1_##suffix(int ncid, int varid, const PIO_Offset *index, const type *op);                       \
	PIO_API int PIOc_get_var1_##suffix(int ncid, int varid, const PIO_Offset *index, type *buf);                            \
	PIO_API int PIOc_put_vara_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const type *op); \
	PIO_API int PIOc_get_vara_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, type *buf);   \
	PIO_API int PIOc_put_vars_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count,               \
	                                   const PIO_Offset *stride, const type *op);                                           \
	PIO_API int PIOc_get_vars_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count,               \
	                                   const PIO_Offset *stride, type *buf);                                                \
	PIO_API int PIOc_put_varm_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count,               \
	                                   const PIO_Offset *stride, const PIO_Offset *imap, const type *op);                   \
	PIO_API int PIOc_get_varm_##suffix(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count,               \
	                                   const PIO_Offset *stride, const PIO_Offset *imap, type *buf);                        \
	PIO_API int PIOc_put_vard_##suffix(int ncid, int varid, int decompid, const PIO_Offset recnum, const type *op);         \
	PIO_API int PIOc_get_vard_##suffix(int ncid, int varid, int decompid, const PIO_Offset recnum, type *buf);
PIO_TYPES(PIO_DECLARE, )

#define PIO_DECLARE_ATT(suffix, type, mem, more)                                                                          \
	PIO_API int PIOc_put_att_##suffix(int ncid, int varid, const char *name, nc_type xtype, PIO_Offset len, const type *op); \
	PIO_API int PIOc_get_att_##suffix(int ncid, int varid, const char *name, type *ip);
PIO_NUMBERS(PIO_DECLARE_ATT, )

PIO_API int PIOc_put_vard(int ncid, int varid, int decompid, const PIO_Offset recnum, const void *buf);
PIO_API int PIOc_get_vard(int ncid, int varid, int decompid, const PIO_Offset recnum, void *buf);

#ifdef PIO_NCAR
/* In NCAR's library, nc_create with NC_PIO creates PIO files. Here these functions return PIO_ENOTBUILT. */
PIO_API int nc_def_iosystem(MPI_Comm comp_comm, int num_iotasks, int stride, int base, int rearr, int *iosysidp);
PIO_API int nc_def_async(MPI_Comm world, int num_io_procs, int *io_proc_list, int component_count, int *num_procs_per_comp, int **proc_list,
                         MPI_Comm *io_comm, MPI_Comm *comp_comm, int rearranger, int *iosysidp);
PIO_API int nc_set_iosystem(int iosysid);
PIO_API int nc_get_iosystem(int *iosysid);
PIO_API int nc_free_iosystem(int iosysid);
PIO_API int nc_def_decomp(int iosysid, int pio_type, int ndims, const int *gdimlen, int maplen, const size_t *compmap, int *ioidp, int rearranger,
                          const size_t *iostart, const size_t *iocount);
PIO_API int nc_free_decomp(int ioid);
PIO_API int nc_put_vard(int ncid, int varid, int decompid, const size_t recnum, const void *buf);
PIO_API int nc_get_vard(int ncid, int varid, int decompid, const size_t recnum, void *buf);
#define PIO_DECLARE_NC(suffix, type, mem, more)                                                                            \
	PIO_API int nc_put_vard_##suffix(int ncid, int varid, int decompid, const size_t recnum, const type *op);              \
	PIO_API int nc_get_vard_##suffix(int ncid, int varid, int decompid, const size_t recnum, type *buf);
PIO_TYPES(PIO_DECLARE_NC, )
#undef PIO_DECLARE_NC
#endif

#undef PIO_DECLARE
#undef PIO_DECLARE_ATT

/* --- maps in text files and netCDF files */

PIO_API int PIOc_readmap(const char *file, int *ndims, int **gdims, PIO_Offset *fmaplen, PIO_Offset **map, MPI_Comm comm);
PIO_API int PIOc_readmap_from_f90(const char *file, int *ndims, int **gdims, PIO_Offset *maplen, PIO_Offset **map, int f90_comm);
PIO_API int PIOc_write_decomp(const char *file, int iosysid, int ioid, MPI_Comm comm);
PIO_API int PIOc_read_nc_decomp(int iosysid, const char *filename, int *ioid, MPI_Comm comm, int pio_type, char *title, char *history,
                                int *fortran_order);

/* --- where the two libraries differ */

PIO_API int PIOc_get_version_major(void);
PIO_API int PIOc_get_version_minor(void);
PIO_API int PIOc_get_version_patch(void);
PIO_API int PIOc_get_version_string(char *vstr, int len);
PIO_API int PIOc_get_version_hash(char *vstr, int len);
PIO_API int PIOc_get_version(int *major, int *minor, int *patch, char *vstr, int vstr_len);

/* In both libraries, fillvalue of PIOc_write_darray_multi is an array of nvars values, not an array of addresses. */
#ifdef PIO_NCAR
#define PIOc_strerror blobio_ncar_strerror
#define PIOc_inq_var blobio_ncar_inq_var
#define PIOc_inq_varname blobio_ncar_inq_varname
#define PIOc_write_darray_multi blobio_ncar_write_darray_multi
#define PIOc_write_nc_decomp blobio_ncar_write_nc_decomp
#define PIOc_writemap blobio_ncar_writemap
#define PIOc_writemap_from_f90 blobio_ncar_writemap_from_f90
PIO_API int PIOc_strerror(int pioerr, char *errstr);
PIO_API int PIOc_inq_var(int ncid, int varid, char *name, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp);
PIO_API int PIOc_inq_varname(int ncid, int varid, char *name);
PIO_API int PIOc_writemap(const char *file, int ndims, const int *gdims, PIO_Offset maplen, PIO_Offset *map, MPI_Comm comm);
PIO_API int PIOc_writemap_from_f90(const char *file, int ndims, const int *gdims, PIO_Offset maplen, const PIO_Offset *map, int f90_comm);
PIO_API int PIOc_write_nc_decomp(int iosysid, const char *filename, int cmode, int ioid, char *title, char *history, int fortran_order);
PIO_API int PIOc_write_darray(int ncid, int varid, int ioid, PIO_Offset arraylen, void *array, void *fillvalue);
PIO_API int PIOc_write_darray_multi(int ncid, const int *varids, int ioid, int nvars, PIO_Offset arraylen, void *array, const int *frame,
                                    void **fillvalue, bool flushtodisk);
#else
PIO_API int PIOc_strerror(int pioerr, char *errmsg, size_t errmsg_sz);
PIO_API int PIOc_inq_var(int ncid, int varid, char *name, int namelen, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp);
PIO_API int PIOc_inq_varname(int ncid, int varid, char *name, int namelen);
PIO_API int PIOc_writemap(const char *file, int ioid, int ndims, const int *gdims, PIO_Offset maplen, const PIO_Offset *map, MPI_Comm comm);
PIO_API int PIOc_writemap_from_f90(const char *file, int ioid, int ndims, const int *gdims, PIO_Offset maplen, const PIO_Offset *map,
                                   int f90_comm);
PIO_API int PIOc_write_nc_decomp(int iosysid, const char *filename, int cmode, int ioid, const char *title, const char *history,
                                 int fortran_order);
PIO_API int PIOc_write_darray(int ncid, int varid, int ioid, PIO_Offset arraylen, const void *array, const void *fillvalue);
PIO_API int PIOc_write_darray_multi(int ncid, const int *varids, int ioid, int nvars, PIO_Offset arraylen, const void *array, const int *frame,
                                    const void **fillvalue, bool flushtodisk);
#endif

#ifdef __cplusplus
}
#endif

#endif
