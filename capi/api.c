//go:build cgo && unix

// The functions of blobio.h. This file has only the parts that must work without the Go runtime: the last error of a thread, the
// texts of codes, and the refusal to run in a child of fork. (Such a child has only one of the Go runtime's threads.)

#include "blobio.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "_cgo_export.h"

// This is only a pointer, because a library loaded by dlopen has little thread-local memory.
static _Thread_local blobio_failure *mine;
static blobio_failure none = {.offset = -1}, shared;
static pthread_key_t key;
static volatile int forked;

static void in_child(void) { forked = 1; }

// Runs when a thread ends.
static void drop(void *p) {
	mine = NULL;
	free(p);
}

__attribute__((constructor)) static void start(void) {
	pthread_atfork(NULL, NULL, in_child);
	pthread_key_create(&key, drop);
}

// Returns the last error of this thread.
static blobio_failure *last(void) {
	if (!mine) {
		mine = calloc(1, sizeof *mine);
		if (!mine)
			return &shared; // without memory, threads share one error
		mine->offset = -1;
		pthread_setspecific(key, mine);
	}
	return mine;
}

static const blobio_failure *seen(void) { return mine ? mine : &none; }

static const char *const texts[] = {
	"success",
	"not an open handle",
	"wrong argument",
	"wrong state of the dataset",
	"value out of range",
	"already exists",
	"not found",
	"permission denied",
	"no space left",
	"input/output error",
	"too large",
	"truncated",
	"checksum mismatch",
	"corrupt",
	"unknown version",
	"unsupported",
	"not this format",
	"not committed",
	"missing",
	"decomposition map mismatch",
	"broken by an earlier failure",
	"in use",
	"the ranks are in different calls",
	"built without MPI",
	"called in a child of fork",
	"bad address",
	"internal error",
	"buffer too small",
	"stopped by the callback",
	"the awaited writer has died",
};

const char *blobio_strerror(int code) {
	if (code == BLOBIO_HELD_BACK)
		return "records are held back";
	if (code > 0 || code <= -(int)(sizeof texts / sizeof texts[0]))
		return "unknown error code";
	return texts[-code];
}

const char *blobio_last_error(void) { return seen()->text; }
int blobio_last_error_code(void) { return seen()->code; }
const char *blobio_last_error_file(void) { return seen()->file; }
int64_t blobio_last_error_offset(void) { return seen()->offset; }

const char *blobio_version(void) { return BLOBIO_VERSION; }
int blobio_abi(void) { return BLOBIO_ABI; }

int blobio_has_mpi(void) {
#ifdef BLOBIO_WITH_MPI
	return 1;
#else
	return 0;
#endif
}

int blobio_fail(int code, const char *text) {
	blobio_failure *e = last();
	e->code = code;
	e->offset = -1;
	e->file[0] = 0;
	snprintf(e->text, sizeof e->text, "%s", text ? text : blobio_strerror(code));
	return code;
}

static int refused(void) {
	return blobio_fail(BLOBIO_EFORKED, "blobio: the library does not work in a child of fork, only in the parent or after exec");
}

#define P(p) ((uintptr_t)(p))
#define CALL(function, ...) return forked ? refused() : function(__VA_ARGS__, last())

int blobio_edge_found(uintptr_t callback, uintptr_t user, int severity, int code, int64_t offset, const char *file,
                      const char *field, const char *message, const char *line) {
	blobio_finding f = {severity, code, offset, file, field, message, line};
	return ((int (*)(void *, const blobio_finding *))callback)((void *)user, &f);
}

// --- writing

int blobio_create(const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoBegin, 0, 0, P(path), P(options), P(file));
}

int blobio_append(const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoBegin, 1, 0, P(path), P(options), P(file));
}

int blobio_create_fcomm(int fcomm, const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoBeginFortran, 0, fcomm, P(path), P(options), P(file));
}

int blobio_append_fcomm(int fcomm, const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoBeginFortran, 1, fcomm, P(path), P(options), P(file));
}

int blobio_def_dim(blobio_file *file, const char *name, int64_t len, int *dimid) {
	CALL(blobioGoDefDim, P(file), P(name), len, P(dimid));
}

int blobio_def_decomp(blobio_file *file, int ndims, const int *dimids, int64_t nruns, const int64_t *offsets,
                      const int64_t *lengths, int *decompid) {
	CALL(blobioGoDefDecomp, P(file), ndims, P(dimids), nruns, P(offsets), P(lengths), P(decompid));
}

int blobio_def_decomp_pio(blobio_file *file, int ndims, const int *dimids, int64_t maplen, const int64_t *compdof,
                          int *decompid) {
	CALL(blobioGoDefDecompPIO, P(file), ndims, P(dimids), maplen, P(compdof), P(decompid));
}

int blobio_def_var(blobio_file *file, const char *name, blobio_type type, int ndims, const int *dimids, int decompid,
                   int *varid) {
	CALL(blobioGoDefVar, P(file), P(name), type, ndims, P(dimids), decompid, P(varid));
}

int blobio_put_att_text(blobio_file *file, int varid, const char *name, int64_t len, const char *text) {
	CALL(blobioGoPutAttText, P(file), varid, P(name), len, P(text));
}

int blobio_put_att(blobio_file *file, int varid, const char *name, blobio_type type, int64_t n, const void *values) {
	CALL(blobioGoPutAtt, P(file), varid, P(name), type, n, P(values));
}

int blobio_enddef(blobio_file *file) { CALL(blobioGoEnddef, P(file)); }

int blobio_put(blobio_file *file, int varid, int64_t record, blobio_type type, const void *data, int64_t n) {
	CALL(blobioGoPut, P(file), varid, record, type, P(data), n);
}

#define PUT(name, ctype, type)                                                                                         \
	int blobio_put_##name(blobio_file *file, int varid, int64_t record, const ctype *data, int64_t n) {                \
		CALL(blobioGoPut, P(file), varid, record, type, P(data), n);                                                   \
	}
PUT(text, char, BLOBIO_CHAR)
PUT(int8, int8_t, BLOBIO_BYTE)
PUT(uint8, uint8_t, BLOBIO_UBYTE)
PUT(int16, int16_t, BLOBIO_SHORT)
PUT(uint16, uint16_t, BLOBIO_USHORT)
PUT(int32, int32_t, BLOBIO_INT)
PUT(uint32, uint32_t, BLOBIO_UINT)
PUT(int64, int64_t, BLOBIO_INT64)
PUT(uint64, uint64_t, BLOBIO_UINT64)
PUT(float, float, BLOBIO_FLOAT)
PUT(double, double, BLOBIO_DOUBLE)

int blobio_put_vara(blobio_file *file, int varid, int64_t record, const int64_t *start, const int64_t *count,
                    blobio_type type, const void *data, int64_t n) {
	CALL(blobioGoPutVara, P(file), varid, record, P(start), P(count), type, P(data), n);
}

int blobio_inq_copies(blobio_file *file, int64_t *bytes, int64_t *limit) { CALL(blobioGoCopies, P(file), P(bytes), P(limit)); }
int blobio_inq_put_count(blobio_file *file, int varid, int64_t *n) { CALL(blobioGoPutCount, P(file), varid, P(n)); }

int blobio_flush(blobio_file *file) { CALL(blobioGoFlush, P(file)); }
int blobio_flush_async(blobio_file *file) { CALL(blobioGoFlushAsync, P(file)); }
int blobio_wait(blobio_file *file) { CALL(blobioGoWait, P(file)); }
int blobio_commit(blobio_file *file) { CALL(blobioGoCommit, P(file)); }
int blobio_commit_async(blobio_file *file) { CALL(blobioGoCommitAsync, P(file)); }
int blobio_inq_committed(blobio_file *file, int64_t *records) { CALL(blobioGoCommitted, P(file), P(records)); }
int blobio_refresh(blobio_file *file, int64_t *records) { CALL(blobioGoRefresh, P(file), P(records)); }
int blobio_wait_records(blobio_file *file, int64_t n, double seconds, int64_t *records) {
	CALL(blobioGoWaitRecords, P(file), n, seconds, P(records));
}
int blobio_inq_status(const char *path, int wait, int *status, int64_t *records) {
	CALL(blobioGoStatus, P(path), wait, P(status), P(records));
}
int blobio_close(blobio_file *file) { CALL(blobioGoClose, P(file)); }
int blobio_abort(blobio_file *file) { CALL(blobioGoAbort, P(file)); }

// --- reading

int blobio_open(const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoOpen, 0, P(path), P(options), P(file));
}

int blobio_open_fcomm(int fcomm, const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoOpenFortran, fcomm, P(path), P(options), P(file));
}

int blobio_inq(blobio_file *file, int *layout, int *ndims, int *nvars, int *natts, int *ndecomps, int *unlimdimid,
               int64_t *records) {
	CALL(blobioGoInq, P(file), P(layout), P(ndims), P(nvars), P(natts), P(ndecomps), P(unlimdimid), P(records));
}

int blobio_inq_ranks(blobio_file *file, int *subfiles, int *ranks) {
	CALL(blobioGoInqRanks, P(file), P(subfiles), P(ranks));
}

int blobio_inq_state(blobio_file *file, char *state, size_t size) {
	CALL(blobioGoInqState, P(file), P(state), (int64_t)size);
}

int blobio_get_header(blobio_file *file, void *header, size_t size, int64_t *need) {
	CALL(blobioGoGetHeader, P(file), P(header), (int64_t)size, P(need));
}

int blobio_inq_dimid(blobio_file *file, const char *name, int *dimid) {
	CALL(blobioGoInqDimID, P(file), P(name), P(dimid));
}

int blobio_inq_dim(blobio_file *file, int dimid, char *name, size_t size, int64_t *len) {
	CALL(blobioGoInqDim, P(file), dimid, P(name), (int64_t)size, P(len));
}

int blobio_inq_varid(blobio_file *file, const char *name, int *varid) {
	CALL(blobioGoInqVarID, P(file), P(name), P(varid));
}

int blobio_inq_var(blobio_file *file, int varid, char *name, size_t size, blobio_type *type, int *ndims, int *dimids,
                   int maxdims, int *natts, int *decompid) {
	CALL(blobioGoInqVar, P(file), varid, P(name), (int64_t)size, P(type), P(ndims), P(dimids), maxdims, P(natts),
	     P(decompid));
}

int blobio_inq_attname(blobio_file *file, int varid, int n, char *name, size_t size) {
	CALL(blobioGoInqAttName, P(file), varid, n, P(name), (int64_t)size);
}

int blobio_inq_att(blobio_file *file, int varid, const char *name, blobio_type *type, int64_t *len) {
	CALL(blobioGoInqAtt, P(file), varid, P(name), P(type), P(len));
}

int blobio_get_att_text(blobio_file *file, int varid, const char *name, char *text, size_t size) {
	CALL(blobioGoGetAttText, P(file), varid, P(name), P(text), (int64_t)size);
}

int blobio_get_att(blobio_file *file, int varid, const char *name, blobio_type type, void *values, int64_t n) {
	CALL(blobioGoGetAtt, P(file), varid, P(name), type, P(values), n);
}

int blobio_inq_decomp(blobio_file *file, int decompid, int *ndims, int *dimids, int maxdims, int *ranks) {
	CALL(blobioGoInqDecomp, P(file), decompid, P(ndims), P(dimids), maxdims, P(ranks));
}

int blobio_inq_decomp_rank(blobio_file *file, int decompid, int rank, int64_t *nruns, int64_t *nelems) {
	CALL(blobioGoInqDecompRank, P(file), decompid, rank, P(nruns), P(nelems));
}

int blobio_get_decomp_rank(blobio_file *file, int decompid, int rank, int64_t nruns, int64_t *offsets,
                           int64_t *lengths) {
	CALL(blobioGoGetDecompRank, P(file), decompid, rank, nruns, P(offsets), P(lengths));
}

int blobio_get_vara(blobio_file *file, int varid, const int64_t *start, const int64_t *count, blobio_type type,
                    void *data, int64_t n) {
	CALL(blobioGoGetVara, P(file), varid, P(start), P(count), type, P(data), n);
}

int blobio_get_darray(blobio_file *file, int varid, int64_t record, int64_t nruns, const int64_t *offsets,
                      const int64_t *lengths, blobio_type type, void *data, int64_t n) {
	CALL(blobioGoGetDarray, P(file), varid, record, nruns, P(offsets), P(lengths), type, P(data), n);
}

int blobio_get_darray_pio(blobio_file *file, int varid, int64_t record, int64_t maplen, const int64_t *compdof,
                          blobio_type type, void *data) {
	CALL(blobioGoGetDarrayPIO, P(file), varid, record, maplen, P(compdof), type, P(data));
}

int blobio_get_darray_all(blobio_file *file, int varid, int64_t record, int64_t nruns, const int64_t *offsets,
                          const int64_t *lengths, blobio_type type, void *data, int64_t n) {
	CALL(blobioGoGetDarrayAll, P(file), varid, record, nruns, P(offsets), P(lengths), type, P(data), n);
}

int blobio_get_darray_pio_all(blobio_file *file, int varid, int64_t record, int64_t maplen, const int64_t *compdof,
                              blobio_type type, void *data) {
	CALL(blobioGoGetDarrayPIOAll, P(file), varid, record, maplen, P(compdof), type, P(data));
}

int blobio_get_blob(blobio_file *file, int varid, int64_t record, int rank, blobio_type type, void *data, int64_t n) {
	CALL(blobioGoGetBlob, P(file), varid, record, rank, type, P(data), n);
}

// --- whole datasets

int blobio_convert(const char *in, const char *out, const char *options) {
	CALL(blobioGoConvert, P(in), P(out), P(options));
}

int blobio_check(const char *path, const char *options, int (*callback)(void *user, const blobio_finding *finding),
                 void *user, int64_t counts[3]) {
	CALL(blobioGoCheck, P(path), P(options), P(callback), P(user), P(counts));
}

int blobio_check_text(const char *path, const char *options, char *text, size_t size, int64_t counts[3]) {
	CALL(blobioGoCheckText, P(path), P(options), P(text), (int64_t)size, P(counts));
}

// --- stores of checkpoints

int blobio_store_open(const char *dir, const char *options, blobio_store **store) {
	CALL(blobioGoStoreOpen, 0, P(dir), P(options), P(store));
}

int blobio_store_open_fcomm(int fcomm, const char *dir, const char *options, blobio_store **store) {
	CALL(blobioGoStoreOpenFortran, fcomm, P(dir), P(options), P(store));
}

int blobio_store_protect(blobio_store *store, int id, void *data, int64_t bytes) {
	CALL(blobioGoStoreProtect, P(store), id, P(data), bytes);
}

int blobio_store_checkpoint(blobio_store *store, int id) { CALL(blobioGoStoreCheckpoint, P(store), id, 0); }
int blobio_store_checkpoint_diff(blobio_store *store, int id) { CALL(blobioGoStoreCheckpoint, P(store), id, 1); }

int blobio_store_recover(blobio_store *store, int id, int *recovered) {
	CALL(blobioGoStoreRecover, P(store), id, P(recovered));
}

int blobio_store_list(blobio_store *store, int maxids, int *ids, int *n) {
	CALL(blobioGoStoreList, P(store), maxids, P(ids), P(n));
}

int blobio_store_inq_size(blobio_store *store, int checkpoint, int id, int64_t *bytes) {
	CALL(blobioGoStoreStored, P(store), checkpoint, id, P(bytes));
}

int blobio_store_close(blobio_store *store) { CALL(blobioGoStoreClose, P(store)); }

// --- versioned arrays

int blobio_array_create(const char *dir, const char *name, blobio_type type, int ndims, const int64_t *shape,
                        const char *options, blobio_array **array) {
	CALL(blobioGoArrayCreate, 0, P(dir), P(name), type, ndims, P(shape), P(options), P(array));
}

int blobio_array_create_fcomm(int fcomm, const char *dir, const char *name, blobio_type type, int ndims,
                              const int64_t *shape, const char *options, blobio_array **array) {
	CALL(blobioGoArrayCreateFortran, fcomm, P(dir), P(name), type, ndims, P(shape), P(options), P(array));
}

int blobio_array_open(const char *dir, const char *name, int64_t version, const char *options, blobio_array **array) {
	CALL(blobioGoArrayOpen, 0, P(dir), P(name), version, P(options), P(array));
}

int blobio_array_open_fcomm(int fcomm, const char *dir, const char *name, int64_t version, const char *options,
                            blobio_array **array) {
	CALL(blobioGoArrayOpenFortran, fcomm, P(dir), P(name), version, P(options), P(array));
}

int blobio_array_put(blobio_array *array, const int64_t *start, const int64_t *count, blobio_type type, const void *data,
                     int64_t n) {
	CALL(blobioGoArrayMove, P(array), 0, 0, P(start), P(count), type, P(data), n);
}

int blobio_array_get(blobio_array *array, const int64_t *start, const int64_t *count, blobio_type type, void *data, int64_t n) {
	CALL(blobioGoArrayMove, P(array), 1, 0, P(start), P(count), type, P(data), n);
}

int blobio_array_get_at(blobio_array *array, int64_t version, const int64_t *start, const int64_t *count, blobio_type type,
                        void *data, int64_t n) {
	CALL(blobioGoArrayMove, P(array), 2, version, P(start), P(count), type, P(data), n);
}

int blobio_array_fence(blobio_array *array) { CALL(blobioGoArrayFence, P(array)); }

int blobio_array_increment(blobio_array *array, int64_t step, const char *label, int64_t *version) {
	CALL(blobioGoArrayIncrement, P(array), step, P(label), P(version));
}

int blobio_array_restore(blobio_array *array, int64_t version) { CALL(blobioGoArrayRestore, P(array), version); }

int blobio_array_taint(blobio_array *array, int n, const int64_t *versions) {
	CALL(blobioGoArrayTaint, P(array), n, P(versions));
}

int blobio_array_list(blobio_array *array, int maxversions, int64_t *versions, int *tainted, int *n) {
	CALL(blobioGoArrayList, P(array), maxversions, P(versions), P(tainted), P(n));
}

int blobio_array_inq(blobio_array *array, blobio_type *type, int *ndims, int64_t *shape, int maxdims, int64_t *newest) {
	CALL(blobioGoArrayInq, P(array), P(type), P(ndims), P(shape), maxdims, P(newest));
}

int blobio_array_close(blobio_array *array) { CALL(blobioGoArrayClose, P(array)); }

#ifdef BLOBIO_WITH_MPI
#include "blobio_mpi.h"

int blobio_create_mpi(MPI_Comm comm, const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoBegin, 0, P(comm), P(path), P(options), P(file));
}

int blobio_append_mpi(MPI_Comm comm, const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoBegin, 1, P(comm), P(path), P(options), P(file));
}

int blobio_open_mpi(MPI_Comm comm, const char *path, const char *options, blobio_file **file) {
	CALL(blobioGoOpen, P(comm), P(path), P(options), P(file));
}

int blobio_store_open_mpi(MPI_Comm comm, const char *dir, const char *options, blobio_store **store) {
	CALL(blobioGoStoreOpen, P(comm), P(dir), P(options), P(store));
}

int blobio_array_create_mpi(MPI_Comm comm, const char *dir, const char *name, blobio_type type, int ndims,
                            const int64_t *shape, const char *options, blobio_array **array) {
	CALL(blobioGoArrayCreate, P(comm), P(dir), P(name), type, ndims, P(shape), P(options), P(array));
}

int blobio_array_open_mpi(MPI_Comm comm, const char *dir, const char *name, int64_t version, const char *options,
                          blobio_array **array) {
	CALL(blobioGoArrayOpen, P(comm), P(dir), P(name), version, P(options), P(array));
}
#endif
