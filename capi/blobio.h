/* blobio.h: parallel I/O in blob layouts, for C and C++.
 *
 * Many ranks write decomposed arrays to files as a few large extents. Any number of ranks can read the arrays in canonical
 * order. docs/guide-c.md is the guide.
 *
 *   writing   create -> def_dim, def_decomp, def_var, put_att -> enddef -> put, flush ... -> close
 *   adding    append -> def_decomp, def_dim, def_var -> enddef -> put, flush ... -> close
 *   reading   open -> inq_..., get_... -> close
 *
 * Return values. Every function that returns int returns BLOBIO_OK (0) or a negative code. Functions that make a commit may also
 * return BLOBIO_HELD_BACK (1), which is not an error. After a negative code or BLOBIO_HELD_BACK, blobio_last_error() returns the
 * full text. No function aborts, exits or prints.
 *
 * Collective. With a communicator (blobio_mpi.h), all its ranks must call the functions marked "Collective" in the same order
 * and with the same arguments, except for each rank's own data. The functions return BLOBIO_OK on all ranks, or an error on all.
 * Without a communicator there is one rank, and no function waits for another. All other functions are local.
 *
 * Ownership. The caller owns all arguments and may change or free them when the call returns. This includes the data of puts,
 * unless the option retain= lends them. Results go to the caller's memory. A pointer to a result may be NULL to ignore that
 * result.
 *
 * Units. Lengths, counts, starts and offsets count elements; sizes of char buffers count bytes, including the NUL. Positions
 * count from 0, except in PIO's form of decompositions. Dimensions are listed slowest first, as in netCDF's C interface.
 *
 * Threads. Any thread may call. Calls with the same handle are serialized, except for reads, which run concurrently. With a
 * communicator MPI's thread level also applies: see blobio_mpi.h. The last error belongs to the thread.
 */
#ifndef BLOBIO_H
#define BLOBIO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef BLOBIO_API
#if defined(__GNUC__)
#define BLOBIO_API __attribute__((visibility("default")))
#else
#define BLOBIO_API
#endif
#endif

#define BLOBIO_VERSION "1.6.0"
#define BLOBIO_ABI 1 /* functions are added, but never changed; each BLOBIO_ABI has its own libblobio.so.N */

/* An open dataset. The pointer is only a handle and points to nothing. A function that gets a closed or invalid handle returns
 * BLOBIO_EHANDLE. */
typedef struct blobio_file blobio_file;

/* ------------------------------------------------------------------ errors */

enum {
	BLOBIO_HELD_BACK = 1,      /* some put records are incomplete and not committed; earlier records are committed, and the writer can continue */
	BLOBIO_OK = 0,
	BLOBIO_EHANDLE = -1,       /* not an open handle */
	BLOBIO_EINVAL = -2,        /* an argument is wrong: for example NULL, a length, an id, an option */
	BLOBIO_ESTATE = -3,        /* wrong state: a put before enddef, a definition after it, a put to a dataset open for reading */
	BLOBIO_ERANGE = -4,        /* a value does not fit its type */
	BLOBIO_EEXIST = -5,        /* the dataset already exists (option force=yes replaces it) */
	BLOBIO_ENOTFOUND = -6,     /* no such file, variable, dimension or attribute */
	BLOBIO_EACCESS = -7,       /* permission denied, read-only file system */
	BLOBIO_ENOSPACE = -8,      /* no space left, or over the quota */
	BLOBIO_EIO = -9,           /* another system error */
	BLOBIO_EMEMORY = -10,      /* too large for the memory limit (option memory=) or for a format */
	BLOBIO_ETRUNCATED = -11,   /* a file is shorter than its own metadata require */
	BLOBIO_ECHECKSUM = -12,    /* bytes do not match their checksum */
	BLOBIO_ECORRUPT = -13,     /* a field of a file has a value that the format forbids */
	BLOBIO_EVERSION = -14,     /* an unknown version of the format */
	BLOBIO_EUNSUPPORTED = -15, /* a feature that this library does not implement */
	BLOBIO_ENOTFORMAT = -16,   /* not a dataset at all */
	BLOBIO_ENOTCOMMITTED = -17,/* the dataset was never finished */
	BLOBIO_EMISSING = -18,     /* a subfile is missing */
	BLOBIO_EMAPS = -19,        /* decompositions do not belong together */
	BLOBIO_EBROKEN = -20,      /* an earlier call, or another rank, has failed; the text names the first cause */
	BLOBIO_EINUSE = -21,       /* another writer holds the dataset */
	BLOBIO_EMISMATCH = -22,    /* the ranks are in different collective calls */
	BLOBIO_ENOMPI = -23,       /* this library was built without MPI: a communicator was passed, or the process is one of several */
	BLOBIO_EFORKED = -24,      /* the process is a child of fork: the library works in the parent only */
	BLOBIO_EFAULT = -25,       /* an address that was passed cannot be read or written */
	BLOBIO_EINTERNAL = -26,    /* a bug in this library: please report the text */
	BLOBIO_ESMALL = -27,       /* the buffer for a result is too small; the text has the required size */
	BLOBIO_ESTOPPED = -28,     /* the callback stopped the call */
	BLOBIO_EDIED = -29         /* the writer of the awaited records has died, or may have */
};

/* A short text of a code, such as "checksum mismatch". The text is static. Any thread may call this at any time, also in a child
 * of fork. */
BLOBIO_API const char *blobio_strerror(int code);

/* The last error of this thread: its full text, its code, the file ("" if none) and the byte offset in the file (-1 if none).
 * Where known, the text has the rank, file, offset, field, and the found and required values. The texts are valid until the next
 * call of this thread that fails; a successful call does not clear them. If there was no error, the text is "" and the code
 * BLOBIO_OK. */
BLOBIO_API const char *blobio_last_error(void);
BLOBIO_API int blobio_last_error_code(void);
BLOBIO_API const char *blobio_last_error_file(void);
BLOBIO_API int64_t blobio_last_error_offset(void);

/* For bindings of other languages: makes a text, without file and offset, the last error of this thread, and returns the code.
 * Since 1.1. */
BLOBIO_API int blobio_fail(int code, const char *text);

/* BLOBIO_VERSION and BLOBIO_ABI of the loaded library, and 1 if it was built with MPI, otherwise 0. */
BLOBIO_API const char *blobio_version(void);
BLOBIO_API int blobio_abi(void);
BLOBIO_API int blobio_has_mpi(void);

/* ------------------------------------------------------------------- words */

/* Types in files and in memory, with the numbers of netCDF. */
typedef int blobio_type;
enum {
	BLOBIO_BYTE = 1,   /* int8_t */
	BLOBIO_CHAR = 2,   /* text; never converted to or from numbers */
	BLOBIO_SHORT = 3,  /* int16_t */
	BLOBIO_INT = 4,    /* int32_t */
	BLOBIO_FLOAT = 5,  /* float */
	BLOBIO_DOUBLE = 6, /* double */
	BLOBIO_UBYTE = 7,  /* uint8_t */
	BLOBIO_USHORT = 8, /* uint16_t */
	BLOBIO_UINT = 9,   /* uint32_t */
	BLOBIO_INT64 = 10, /* int64_t */
	BLOBIO_UINT64 = 11 /* uint64_t */
};

/* Layouts, from blobio_inq. */
enum { BLOBIO_VARIABLE_CENTRIC = 0, BLOBIO_PROCESS_CENTRIC = 1, BLOBIO_CANONICAL = 2 };

/* Results of blobio_inq_status: another program wrote the dataset, or a writer is at work, has finished, has died, or is on
 * another machine and may have died. */
enum { BLOBIO_UNMARKED = 0, BLOBIO_WRITING = 1, BLOBIO_FINISHED = 2, BLOBIO_DIED = 3, BLOBIO_WRITING_OR_DIED = 4 };

#define BLOBIO_UNLIMITED ((int64_t)0) /* length of the record dimension */
#define BLOBIO_GLOBAL (-1)            /* used as varid for the attributes of the dataset */
#define BLOBIO_NO_DECOMP 0            /* decomposition of a variable that has none */

/* ----------------------------------------------------------------- writing */

/* Begins a dataset (create), or adds records to a committed dataset (append). Nothing is written before enddef, and no file has
 * its final name before the first commit. path is the name without a subfile number: files are path.0000, path.0001, ...,
 * path.manifest. options is NULL, or name=value, separated by commas or blanks:
 *
 *   layout=variable|process     default variable
 *   subfiles=N                  default: one per node
 *   grouping=node|block|roundrobin  assignment of ranks to subfiles; default node
 *   records=N                   process layout: fixes the number of records, so that flush can write
 *   retain=copy|flush|close     puts copy their data (default), or lend them until flush or close returns
 *   durability=commit|data|none what close waits for; default commit: all data survive a power loss
 *   commit=auto|rename|manifest how subfiles get their names
 *   incomplete=hold|fill        commit holds incomplete records back (default; the result is BLOBIO_HELD_BACK), or fills them
 *   heartbeat=SECONDS           period in which the writer shows that it is alive, so that readers on other machines notice its death; default 15 if machines share the file system
 *   force=yes                   replace a dataset of this name; the old one stays readable until the new one is complete
 *   repeats=yes                 a rank may list an element of a decomposition twice, and the later value counts; default: an error of enddef
 *   wide_maps=yes               allow decompositions of more than 2^31-1 elements (only blobio reads such files)
 *   compress=off|auto|zstd|shuffle+zstd  process layout, lossless; also with a level, as zstd:1 to zstd:4 (only blobio reads such files)
 *   memory=SIZE                 limit of copies in one process, default 2G (K, M, G, T are powers of 1024)
 *   buffer=SIZE                 bytes that a worker writes at a time, 64K to 1G; default 512K to 4M, by the size of a flush
 *   aggregators=N               with MPI: number of processes per node that write small pieces; default from measurements
 *   own_min=SIZE                with MPI: if the ranks' pieces have at least this mean size, each rank writes its own; default 128K, between nodes 64K
 *   stripe_size=SIZE stripe_count=N  stripes of the file system (Lustre's stripes, GPFS's blocks): two nodes then never write to the same unit
 *   workers=N  max_open=N       number of threads that write, and of open files; defaults: the cores, 256
 *
 * In append, the ranks, runs, subfiles and the grouping may differ between writers. The layout of the files cannot
 * change. *file is set only on success. These functions use one rank; see blobio_mpi.h for communicators.
 *
 * In a library without MPI, these two functions return BLOBIO_ENOMPI if mpirun or srun has started several processes, because
 * each process would write the whole dataset. BLOBIO_MPI=0 in the initial environment of the process turns this check off. */
BLOBIO_API int blobio_create(const char *path, const char *options, blobio_file **file);
BLOBIO_API int blobio_append(const char *path, const char *options, blobio_file **file);

/* Like blobio_create and blobio_append, with a communicator given as Fortran's integer. A library without MPI returns
 * BLOBIO_ENOMPI. Collective. */
BLOBIO_API int blobio_create_fcomm(int fcomm, const char *path, const char *options, blobio_file **file);
BLOBIO_API int blobio_append_fcomm(int fcomm, const char *path, const char *options, blobio_file **file);

/* Definitions. Every rank makes the same definitions in the same order, between create and enddef. These calls are local. enddef
 * detects differences between ranks, and fails on all ranks if a definition has failed on any rank. Ids start at 0, ids of
 * decompositions at 1. */

/* Defines a dimension of len elements, or of BLOBIO_UNLIMITED (at most one, and none after blobio_append). If no new variable
 * uses a dimension that was defined after blobio_append, blobio_enddef returns BLOBIO_EINVAL. */
BLOBIO_API int blobio_def_dim(blobio_file *file, const char *name, int64_t len, int *dimid);

/* Defines which elements of an array this rank owns. dimids are the dimensions of the array, slowest first, without the record
 * dimension. Run i has lengths[i] elements from offsets[i] on in the flattened array. Puts have the elements in the order of the
 * runs. Each rank passes its own runs; with 0 runs it owns nothing. Each element should have one owner. A run should not
 * continue from one row of the fastest dimension to the next, because other readers of the format do not expect this.
 * blobio_check reports violations of these two rules. After blobio_append, call blobio_def_decomp for each decomposition of the
 * dataset in order; ndims and dimids are then ignored and may be 0 and NULL. Inquiries about the decomposition are possible at
 * once. */
BLOBIO_API int blobio_def_decomp(blobio_file *file, int ndims, const int *dimids, int64_t nruns, const int64_t *offsets,
                                 const int64_t *lengths, int *decompid);

/* Like blobio_def_decomp, in PIO's form. For each of the maplen elements of this rank's array in memory, compdof has the
 * position in the flattened array, counted from 1, or 0 for a hole: an element that is not in the file. Puts then take maplen
 * elements, including holes. */
BLOBIO_API int blobio_def_decomp_pio(blobio_file *file, int ndims, const int *dimids, int64_t maplen,
                                     const int64_t *compdof, int *decompid);

/* Defines a variable with its type in the file. dimids lists its dimensions; the unlimited dimension, if any, comes first.
 * decompid is BLOBIO_NO_DECOMP, or a decomposition whose dimensions have the lengths of the variable's other dimensions. After
 * blobio_append (since 1.5) the variable must have the unlimited dimension, and existing records read as fill values. */
BLOBIO_API int blobio_def_var(blobio_file *file, const char *name, blobio_type type, int ndims, const int *dimids,
                              int decompid, int *varid);

/* Sets an attribute of a variable, or of the dataset with BLOBIO_GLOBAL. It replaces an attribute of the same name. len is the
 * number of bytes of text without a NUL; -1 means strlen. type is the type in memory and in the file. After enddef (since 1.5)
 * the call is collective, with the same values on all ranks. The next commit of records, or close, stores the attribute in the
 * manifest, so that other programs see it only after convert. _FillValue cannot be changed after enddef. More than 256 MiB of
 * such attributes is BLOBIO_EMEMORY. Inquiries of the writer do not show such attributes. Before enddef of an append, only new
 * variables can get attributes. */
BLOBIO_API int blobio_put_att_text(blobio_file *file, int varid, const char *name, int64_t len, const char *text);
BLOBIO_API int blobio_put_att(blobio_file *file, int varid, const char *name, blobio_type type, int64_t n,
                              const void *values);

/* Ends the definitions and creates the files. Collective. If it fails, only close (or abort) is allowed. */
BLOBIO_API int blobio_enddef(blobio_file *file);

/* Puts this rank's elements of one record of a decomposed variable, in the order of its decomposition. n must be the number from
 * blobio_inq_put_count. A variable without a decomposition is put whole, by any number of ranks. All ranks that put it between
 * two flushes must put the same bytes. If two ranks differ, the flush returns an error that names both. record is 0 for a
 * variable without the record dimension. type is the type of data, which may differ from the type in the file. Values are
 * converted; if a value does not fit, the result is BLOBIO_ERANGE, and none of the data is kept. Records may be put in any
 * order. A variable may be put repeatedly before a flush; the last put counts. Local. This function does not write. It is what
 * PnetCDF calls a buffered non-blocking put (with retain=flush: a non-blocking put), and flush corresponds to wait_all. */
BLOBIO_API int blobio_put(blobio_file *file, int varid, int64_t record, blobio_type type, const void *data, int64_t n);

/* blobio_put, with one function for each type. */
BLOBIO_API int blobio_put_text(blobio_file *file, int varid, int64_t record, const char *data, int64_t n);
BLOBIO_API int blobio_put_int8(blobio_file *file, int varid, int64_t record, const int8_t *data, int64_t n);
BLOBIO_API int blobio_put_uint8(blobio_file *file, int varid, int64_t record, const uint8_t *data, int64_t n);
BLOBIO_API int blobio_put_int16(blobio_file *file, int varid, int64_t record, const int16_t *data, int64_t n);
BLOBIO_API int blobio_put_uint16(blobio_file *file, int varid, int64_t record, const uint16_t *data, int64_t n);
BLOBIO_API int blobio_put_int32(blobio_file *file, int varid, int64_t record, const int32_t *data, int64_t n);
BLOBIO_API int blobio_put_uint32(blobio_file *file, int varid, int64_t record, const uint32_t *data, int64_t n);
BLOBIO_API int blobio_put_int64(blobio_file *file, int varid, int64_t record, const int64_t *data, int64_t n);
BLOBIO_API int blobio_put_uint64(blobio_file *file, int varid, int64_t record, const uint64_t *data, int64_t n);
BLOBIO_API int blobio_put_float(blobio_file *file, int varid, int64_t record, const float *data, int64_t n);
BLOBIO_API int blobio_put_double(blobio_file *file, int varid, int64_t record, const double *data, int64_t n);

/* Puts a part of one record of a variable without a decomposition: count[i] elements from start[i] on along each dimension
 * except the record dimension. n is the product of count. Otherwise like blobio_put. */
BLOBIO_API int blobio_put_vara(blobio_file *file, int varid, int64_t record, const int64_t *start, const int64_t *count,
                               blobio_type type, const void *data, int64_t n);

/* Returns the number of elements that blobio_put requires from this rank. Possible after enddef. */
BLOBIO_API int blobio_inq_put_count(blobio_file *file, int varid, int64_t *n);

/* Returns how many bytes this process holds in copies of put data of this dataset, and the limit (memory=). Local. Possible
 * after enddef. Since 1.3. */
BLOBIO_API int blobio_inq_copies(blobio_file *file, int64_t *bytes, int64_t *limit);

/* Writes all put data. Afterwards the caller may change data that were lent until flush. In the process layout without records=,
 * flush only copies lent data. Collective. */
BLOBIO_API int blobio_flush(blobio_file *file);

/* Starts a flush in the background and returns. Meanwhile the caller can compute and put more data. Data lent until flush stay
 * lent until blobio_wait, the next flush of either kind, or close has returned. Each of these waits for the previous flush and
 * returns its error on all ranks. A put that exceeds memory= waits for the flush. The background flush does not use MPI.
 * Collective. Since 1.2. */
BLOBIO_API int blobio_flush_async(blobio_file *file);

/* Waits for the last blobio_flush_async. Afterwards the state is the same as after blobio_flush. Collective. Since 1.2. */
BLOBIO_API int blobio_wait(blobio_file *file);

/* Flushes and commits all data put so far, as durably as close. The writer can continue afterwards. From then on readers see
 * this state, whatever happens to this program. Only complete records are committed: the records before the first incomplete
 * record (but see incomplete=). A record is incomplete if some rank has not put a variable that has values. A variable has
 * values if any rank has put it since create or append, or if records before an append have values other than fill values. If a
 * record is incomplete, blobio_commit commits the records before it and returns BLOBIO_HELD_BACK on all ranks.
 * blobio_last_error() then names the record, the variable and the rank. A later commit includes the record when it is complete.
 * The first commit also commits the fixed variables; fixed variables that were never put get fill values. Committed values
 * cannot be put again (BLOBIO_EINVAL). In the process layout without records=, or with compression, each commit with new records
 * creates further subfiles. After an error the previous commit is in force. Collective. Since 1.5. */
BLOBIO_API int blobio_commit(blobio_file *file);

/* Starts a commit in the background, as blobio_flush_async starts a flush. The next collective call completes the commit and
 * returns the commit's error. If the commit held back records, that call does its own work and then returns BLOBIO_HELD_BACK.
 * The commit is durable when blobio_wait has returned. Values that were put before the commit must not be put again. Collective.
 * Since 1.5. */
BLOBIO_API int blobio_commit_async(blobio_file *file);

/* Returns the number of committed records, including the records of earlier sessions. Local. Possible after enddef. Since 1.5. */
BLOBIO_API int blobio_inq_committed(blobio_file *file, int64_t *records);

/* Closes a dataset. If it is open for writing, close writes the remaining data, fills all values that were never put, and
 * commits. If this fails, the state of the last commit remains. Calls enddef if necessary. Collective for writing, and for a
 * dataset opened with collective=yes. The handle becomes invalid in any case. */
BLOBIO_API int blobio_close(blobio_file *file);

/* Aborts writing and removes everything that is not committed. Any rank may call it at any time; the current or next collective
 * call of the other ranks returns BLOBIO_EBROKEN. The handle becomes invalid. */
BLOBIO_API int blobio_abort(blobio_file *file);

/* ----------------------------------------------------------------- reading */

/* Opens a dataset. path is its name without a subfile number, one of its subfiles, an ordinary netCDF file (CDF-1, 2, 5), or a
 * directory with one dataset. The content decides which of these it is. options is NULL or
 *   allow_missing=yes  open despite missing subfiles: their elements read as fill values
 *   missing_later=yes  open despite missing subfiles or damaged headers, if there is a manifest; only reads of their elements fail
 *   verify=once        compare the checksum of every piece that a read touches, once while the file is open (the default). This reads
 *                      the rest of the piece. BLOBIO_ECHECKSUM if one differs
 *   verify=whole       like once, but only pieces that one read covers completely; damage in other pieces is not detected
 *   verify=always      like once, but at each read
 *   verify=never       compare nothing, to salvage damaged data
 *   memory=SIZE        limit of buffers, at least 1M, default 256M
 *   workers=N  max_open=N
 *   collective=yes     ranks can read together with blobio_get_darray_all; blobio_close is then collective too. Since 1.5
 * All other reads are local, however the dataset was opened. */
BLOBIO_API int blobio_open(const char *path, const char *options, blobio_file **file);
BLOBIO_API int blobio_open_fcomm(int fcomm, const char *path, const char *options, blobio_file **file); /* Collective */

/* Inquiries, for reading and for writing. */

/* Returns the layout; the numbers of dimensions, variables, global attributes and decompositions; the id of the unlimited
 * dimension, or -1; and the number of committed records (when writing, of those that this rank knows). */
BLOBIO_API int blobio_inq(blobio_file *file, int *layout, int *ndims, int *nvars, int *natts, int *ndecomps,
                          int *unlimdimid, int64_t *records);

/* Brings a dataset that is open for reading to the current committed state. *records, unless NULL, is set to the number of
 * records. Takes no lock. If the dataset was replaced, the result is BLOBIO_EBROKEN, and the dataset must be opened again.
 * Local. With collective=yes, each rank must call blobio_refresh before the ranks read together again. If a commit comes between
 * the calls of two ranks, reading together fails because the states differ; then each rank must call blobio_refresh again. New
 * dimensions and variables come after the existing ones. Since 1.5. */
BLOBIO_API int blobio_refresh(blobio_file *file, int64_t *records);

/* Repeats blobio_refresh until there are n records, the writer has finished, or seconds have passed (a negative number means no
 * limit). *records, unless NULL, is set to the number of records, which can then be below n. If the writer has died, the result
 * is BLOBIO_EDIED within twice its heartbeat period; committed data stay readable. Other threads can read meanwhile. Local; not
 * with collective=yes. Since 1.5. */
BLOBIO_API int blobio_wait_records(blobio_file *file, int64_t n, double seconds, int64_t *records);

/* Returns whether a dataset is being written, and how many records are committed. The status is certain on the writer's machine
 * and wherever the writer's locks are visible. Elsewhere it is BLOBIO_WRITING_OR_DIED until it becomes certain. With wait=1 the
 * function waits for this, but at most twice the heartbeat period. Either result may be NULL. Since 1.5. */
BLOBIO_API int blobio_inq_status(const char *path, int wait, int *status, int64_t *records);

/* Returns the number of subfiles, and the number of ranks that wrote the dataset. For reading only. */
BLOBIO_API int blobio_inq_ranks(blobio_file *file, int *subfiles, int *ranks);

/* Returns 32 hexadecimal digits that identify the committed state. They change when the dataset is replaced or appended to. size
 * is the size of the buffer, at least 33 bytes. For reading only. Since 1.4. */
BLOBIO_API int blobio_inq_state(blobio_file *file, char *state, size_t size);

/* Returns all dimensions, variables and attributes in one call, as the header that the dataset would have as an ordinary netCDF
 * file of format CDF-5. *need is set to the length of the header in bytes. If size is smaller, the result is BLOBIO_ESMALL. With
 * header NULL and size 0, only the length is returned. For reading only. Since 1.4. */
BLOBIO_API int blobio_get_header(blobio_file *file, void *header, size_t size, int64_t *need);

BLOBIO_API int blobio_inq_dimid(blobio_file *file, const char *name, int *dimid);
/* Returns name and length. The length of the unlimited dimension is the number of records. size is the size of the buffer name
 * in bytes. */
BLOBIO_API int blobio_inq_dim(blobio_file *file, int dimid, char *name, size_t size, int64_t *len);

BLOBIO_API int blobio_inq_varid(blobio_file *file, const char *name, int *varid);
/* dimids has room for maxdims ids; *ndims is always set. */
BLOBIO_API int blobio_inq_var(blobio_file *file, int varid, char *name, size_t size, blobio_type *type, int *ndims,
                              int *dimids, int maxdims, int *natts, int *decompid);

BLOBIO_API int blobio_inq_attname(blobio_file *file, int varid, int n, char *name, size_t size);
/* Returns type and number of elements. For text, the number is the number of bytes without a NUL. */
BLOBIO_API int blobio_inq_att(blobio_file *file, int varid, const char *name, blobio_type *type, int64_t *len);
/* Returns the text with a NUL. */
BLOBIO_API int blobio_get_att_text(blobio_file *file, int varid, const char *name, char *text, size_t size);
/* Returns n values, converted to type. */
BLOBIO_API int blobio_get_att(blobio_file *file, int varid, const char *name, blobio_type type, void *values, int64_t n);

/* Returns the dimensions and the number of ranks of a decomposition. For reading only. */
BLOBIO_API int blobio_inq_decomp(blobio_file *file, int decompid, int *ndims, int *dimids, int maxdims, int *ranks);
/* Returns the number of runs and the number of elements of one rank. */
BLOBIO_API int blobio_inq_decomp_rank(blobio_file *file, int decompid, int rank, int64_t *nruns, int64_t *nelems);
/* Returns the rank's runs. offsets and lengths have room for nruns numbers. */
BLOBIO_API int blobio_get_decomp_rank(blobio_file *file, int decompid, int rank, int64_t nruns, int64_t *offsets,
                                      int64_t *lengths);

/* Reads a hyperslab in canonical order: count[i] elements from start[i] on along each dimension, including the record dimension.
 * NULL for both means the whole variable. n is the product of the counts. type is the type of data; values are converted.
 * Unwritten elements read as the fill value. */
BLOBIO_API int blobio_get_vara(blobio_file *file, int varid, const int64_t *start, const int64_t *count,
                               blobio_type type, void *data, int64_t n);

/* Reads the elements of some runs of one record, one run after another, n in total. The runs need not be those of the writers,
 * so a restart can use any decomposition and any number of ranks. */
BLOBIO_API int blobio_get_darray(blobio_file *file, int varid, int64_t record, int64_t nruns, const int64_t *offsets,
                                 const int64_t *lengths, blobio_type type, void *data, int64_t n);

/* Like blobio_get_darray, in PIO's form. data has maplen elements; elements with compdof 0 stay unchanged. */
BLOBIO_API int blobio_get_darray_pio(blobio_file *file, int varid, int64_t record, int64_t maplen,
                                     const int64_t *compdof, blobio_type type, void *data);

/* Like the two functions above, but all ranks that opened the dataset with a communicator and the option collective=yes read
 * together. Each part of maps and data is read by one rank, in long pieces, and sent to the ranks that need it. The first call
 * with a decomposition makes a plan that later calls reuse. A rank may read no elements. Collective: all ranks pass the same
 * dataset, varid and record. If one rank has an error, all ranks return it. After a call with an invalid handle
 * (BLOBIO_EHANDLE), collective reads of all datasets that were opened with collective=yes fail (BLOBIO_EBROKEN). Since 1.5. */
BLOBIO_API int blobio_get_darray_all(blobio_file *file, int varid, int64_t record, int64_t nruns, const int64_t *offsets,
                                     const int64_t *lengths, blobio_type type, void *data, int64_t n);
BLOBIO_API int blobio_get_darray_pio_all(blobio_file *file, int varid, int64_t record, int64_t maplen,
                                         const int64_t *compdof, blobio_type type, void *data);

/* Reads the blob of one rank: the elements that the rank has put, in the order of its puts. n is their number
 * (blobio_inq_decomp_rank). */
BLOBIO_API int blobio_get_blob(blobio_file *file, int varid, int64_t record, int rank, blobio_type type, void *data,
                               int64_t n);

/* ------------------------------------------------------- whole datasets, files to files */

/* Writes the dataset to out in another layout. options is NULL or
 *   format=cdf5|cdf2|cdf1|variable|process  default cdf5: one ordinary netCDF file
 *   vars=A:B:C  first_record=N end_record=N  convert only these variables and records (without end_record)
 *   ranks=N subfiles=N grouping=block|roundrobin wide_maps=yes compress=... drop_uncovered=yes  only for output in blobs
 *   fill_missing=yes  elements of missing subfiles become fill values; otherwise they are an error
 *   zero_fill=yes force=yes memory=SIZE workers=N durability=commit|data|none
 * Local: one rank calls it. The option memory= limits the memory. */
BLOBIO_API int blobio_convert(const char *in, const char *out, const char *options);

/* A finding of blobio_check. */
typedef struct blobio_finding {
	int severity;        /* 0 note, 1 warning (all data can be read), 2 error (data are lost or cannot be trusted, or,
	                        * with code BLOBIO_EUNSUPPORTED or BLOBIO_EVERSION, could not be checked) */
	int code;            /* class of the error, or BLOBIO_OK */
	int64_t offset;      /* offset in the file in bytes, or -1 */
	const char *file;    /* "" if the finding concerns the dataset as a whole */
	const char *field;   /* "" if there is no field */
	const char *message; /* what was found, and what is required */
	const char *line;    /* the whole finding in one line */
} blobio_finding;

/* Looks for all faults of a dataset, a store of checkpoints or a versioned array; path of an array is its directory. For each
 * finding blobio_check calls callback, unless NULL, on this thread. The finding is valid until callback returns. callback may
 * call this library but must not longjmp or throw. If it returns a value other than 0, the check ends with BLOBIO_ESTOPPED.
 * counts gets the numbers of notes, warnings and errors. If the check ran, the result is BLOBIO_OK, whatever the check has
 * found: counts[2] is the number of errors. If nothing has this name, or a directory has no dataset, the result is
 * BLOBIO_ENOTFOUND. If path cannot be examined, it is BLOBIO_EACCESS or BLOBIO_EIO. options is NULL or quick=yes (structure
 * only), workers=N, max_open=N. Local. */
BLOBIO_API int blobio_check(const char *path, const char *options,
                            int (*callback)(void *user, const blobio_finding *finding), void *user, int64_t counts[3]);

/* Like blobio_check, but returns the findings as text, one line for each. If the lines exceed size bytes, the result is
 * BLOBIO_ESMALL. */
BLOBIO_API int blobio_check_text(const char *path, const char *options, char *text, size_t size, int64_t counts[3]);

/* ------------------------------------------------------- stores of checkpoints */

/* A store: a directory with checkpoints of the protected variables of all ranks. The pointer is only a handle, like blobio_file. */
typedef struct blobio_store blobio_store;

/* Opens the store in a directory that all ranks see, or creates it. The parent directory must exist. If another number of ranks
 * made the store, the result is BLOBIO_EINVAL. options is NULL or
 *   keep=N                   number of checkpoints to keep, 1 to 64; default 1
 *   block=SIZE               size of the blocks that checkpoint_diff compares; default 16K
 *   hash=md5|fast            hash of the blocks; default md5, with which FTI can read the files
 *   durability=commit|none   default commit: a checkpoint survives a power loss
 *   workers=N                number of threads; default: the cores
 * This function uses one rank; see blobio_mpi.h for communicators. Since 1.6. */
BLOBIO_API int blobio_store_open(const char *dir, const char *options, blobio_store **store);

/* Like blobio_store_open, with a communicator given as Fortran's integer. Collective. Since 1.6. */
BLOBIO_API int blobio_store_open_fcomm(int fcomm, const char *dir, const char *options, blobio_store **store);

/* Registers the memory of a variable of this rank: checkpoints read it, and recover fills it. id is 0 or more. The memory must
 * stay valid until the store is closed, or until blobio_store_protect is called again for this id. Ranks may have different
 * variables. Since 1.6. */
BLOBIO_API int blobio_store_protect(blobio_store *store, int id, void *data, int64_t bytes);

/* Writes all protected variables of all ranks as a checkpoint. The ids of checkpoints must increase.
 * blobio_store_checkpoint_diff writes only changed blocks. After BLOBIO_OK the checkpoint is committed; after an error readers
 * see no change. Collective. Since 1.6. */
BLOBIO_API int blobio_store_checkpoint(blobio_store *store, int id);
BLOBIO_API int blobio_store_checkpoint_diff(blobio_store *store, int id);

/* Fills the protected variables from checkpoint id, or with -1 from the newest checkpoint that is sound on all ranks. *recovered
 * is set to the id of the checkpoint. If no checkpoint was ever committed, the result is BLOBIO_EMISSING. If sizes differ from
 * the stored sizes, the result is BLOBIO_EINVAL, and nothing is read. After another error the memory may hold parts of several
 * checkpoints. Collective. Since 1.6. */
BLOBIO_API int blobio_store_recover(blobio_store *store, int id, int *recovered);

/* Returns the ids of the committed checkpoints, ascending, but at most maxids ids. *n is the total number of checkpoints. ids
 * may be NULL. Since 1.6. */
BLOBIO_API int blobio_store_list(blobio_store *store, int maxids, int *ids, int *n);

/* Returns the size in bytes of a variable of this rank in a checkpoint, so that memory can be allocated before recover. Since
 * 1.6. */
BLOBIO_API int blobio_store_inq_size(blobio_store *store, int checkpoint, int id, int64_t *bytes);

/* Closes the store. This is required even after errors. Committed checkpoints stay. Collective. Since 1.6. */
BLOBIO_API int blobio_store_close(blobio_store *store);

/* ------------------------------------------------------- versioned arrays */

/* An array that is distributed over all ranks and keeps its states as versions. The pointer is only a handle, like blobio_file. */
typedef struct blobio_array blobio_array;

/* Creates an array of zeros and its version 0, in the directory dir/name. If dir is NULL, the array is only in memory and ends
 * with the program. type is a numeric type; shape has 1 to 4 lengths. options is NULL or
 *   keep=N every=N           keep the newest N versions, and the versions whose number is a multiple of every; default: keep all
 *   chunk=SIZE               size of the chunks in which changes are stored, 512 to 16M; default 64K
 *   compress=yes             compress chunks
 *   copies=N                 for an array in memory: number of nodes that keep a copy
 *   durability=commit|none   default commit: a version survives a power loss
 * If the array already exists, the result is BLOBIO_EEXIST. This function uses one rank; see blobio_mpi.h for communicators.
 * Since 1.6. */
BLOBIO_API int blobio_array_create(const char *dir, const char *name, blobio_type type, int ndims, const int64_t *shape,
                                   const char *options, blobio_array **array);

/* Opens an array on any number of ranks. Its current state is the given version, or with -1 the newest version that is not
 * tainted. Only the options compress and durability apply. Since 1.6. */
BLOBIO_API int blobio_array_open(const char *dir, const char *name, int64_t version, const char *options, blobio_array **array);

/* Like blobio_array_create and blobio_array_open, with a communicator given as Fortran's integer. Collective. Since 1.6. */
BLOBIO_API int blobio_array_create_fcomm(int fcomm, const char *dir, const char *name, blobio_type type, int ndims,
                                         const int64_t *shape, const char *options, blobio_array **array);
BLOBIO_API int blobio_array_open_fcomm(int fcomm, const char *dir, const char *name, int64_t version, const char *options,
                                       blobio_array **array);

/* put and get transfer count[d] elements from start[d] on along each dimension d of the current state, on any rank. get_at reads
 * a committed version and compares its checksums. type is the array's type, and n is the product of the counts. A put is
 * complete when it returns; other ranks see its data after blobio_array_fence. Since 1.6. */
BLOBIO_API int blobio_array_put(blobio_array *array, const int64_t *start, const int64_t *count, blobio_type type,
                                const void *data, int64_t n);
BLOBIO_API int blobio_array_get(blobio_array *array, const int64_t *start, const int64_t *count, blobio_type type, void *data,
                                int64_t n);
BLOBIO_API int blobio_array_get_at(blobio_array *array, int64_t version, const int64_t *start, const int64_t *count,
                                   blobio_type type, void *data, int64_t n);

/* After blobio_array_fence, all ranks see all earlier puts. Collective. Since 1.6. */
BLOBIO_API int blobio_array_fence(blobio_array *array);

/* Commits the current state as a new version, whose number is greater by step (1 or more). label may be NULL. Collective. Since
 * 1.6. */
BLOBIO_API int blobio_array_increment(blobio_array *array, int64_t step, const char *label, int64_t *version);

/* Makes the state of a version the current state. The versions do not change. Collective. Since 1.6. */
BLOBIO_API int blobio_array_restore(blobio_array *array, int64_t version);

/* Durably marks n versions as tainted, because they contain an error that was detected late. blobio_array_open with -1 skips
 * tainted versions. Collective. Since 1.6. */
BLOBIO_API int blobio_array_taint(blobio_array *array, int n, const int64_t *versions);

/* Returns the versions, ascending, but at most maxversions versions, and whether each is tainted (1 or 0). *n is the total
 * number of versions. Since 1.6. */
BLOBIO_API int blobio_array_list(blobio_array *array, int maxversions, int64_t *versions, int *tainted, int *n);

/* Returns the type, the shape of the current state (at most maxdims lengths), and the newest version that is not tainted, or -1
 * if all versions are tainted. Since 1.6. */
BLOBIO_API int blobio_array_inq(blobio_array *array, blobio_type *type, int *ndims, int64_t *shape, int maxdims,
                                int64_t *newest);

/* Closes the array. Uncommitted changes are lost. Collective. Since 1.6. */
BLOBIO_API int blobio_array_close(blobio_array *array);

#ifdef __cplusplus
}
#endif
#endif
