// The functions of fti.h, also for the Fortran module. libblobio_mpi does all the work, see edge.h.

#define FTI_API __attribute__((visibility("default")))
#include "fti.h"

#include <pthread.h>

#include "blobio.h"
#include "edge.h"

#define P(p) ((fti_word)(p))

MPI_Comm FTI_COMM_WORLD = MPI_COMM_NULL;
fti_id_t FTI_CHAR = 0, FTI_SHRT = 1, FTI_INTG = 2, FTI_LONG = 3, FTI_UCHR = 4, FTI_USHT = 5, FTI_UINT = 6, FTI_ULNG = 7, FTI_SFLT = 8,
		 FTI_DBLE = 9, FTI_LDBE = 10;

// Sizes of the types in bytes, indexed by id.
enum { PRIMITIVE = 11, TYPES = 64 };
static int sizes[TYPES] = {sizeof(char),		   sizeof(short),		 sizeof(int),		   sizeof(long),  sizeof(unsigned char), sizeof(unsigned short),
						   sizeof(unsigned int), sizeof(unsigned long), sizeof(float), sizeof(double), sizeof(long double)};
static int types = PRIMITIVE;

static enum { NONE_BEGUN, BEGUN, REFUSED } incremental; // the state of an incremental checkpoint
static int owned;  // FTI_COMM_WORLD is a duplicate

static volatile int forked;

static void in_child(void) { forked = 1; }

__attribute__((constructor)) static void start(void) { pthread_atfork(NULL, NULL, in_child); }

static int rank; // rank in the communicator of FTI_Init; rank 0 prints errors that all ranks have

static void find_rank(MPI_Comm comm) {
	int ready = 0, over = 0;
	MPI_Initialized(&ready);
	MPI_Finalized(&over);
	if (ready && !over && comm != MPI_COMM_NULL)
		MPI_Comm_rank(comm, &rank);
}

// Returns the result to the caller. FTI has no function for the text of an error, so the text goes to standard error and to
// blobio_last_error.
static int result(int rc, int shared, int failed, const char *call, const blobio_fti_failure *e) {
	if (!rc)
		return FTI_SCES;
	blobio_fail(rc, e->text);
	if (!shared || rank == 0)
		fprintf(stderr, "blobio: %s: %s\n", call, e->text);
	return failed;
}

static int refused(blobio_fti_failure *e) {
	snprintf(e->text, sizeof e->text, "the library does not work in a child of fork, only in the parent or after exec");
	return BLOBIO_EFORKED;
}

// RUN calls a Go function and yields its result, or failed after an error. shared means that all ranks get the same result.
#define RUN(shared, failed, call, name, ...)                                                                           \
	({                                                                                                                 \
		blobio_fti_failure e;                                                                                          \
		e.text[0] = 0;                                                                                                 \
		result(forked ? refused(&e) : blobioGoFti##name(__VA_ARGS__ & e), shared, failed, call, &e);                     \
	})

int FTI_Init(const char *configFile, MPI_Comm globalComm) {
	int32_t nothing = 0;
	find_rank(globalComm);
	int rc = RUN(1, FTI_NSCS, "FTI_Init", Init, P(globalComm), P(configFile), P(&nothing), );
	if (rc != FTI_SCES && !nothing)
		return rc;
	if (owned)
		MPI_Comm_free(&FTI_COMM_WORLD);
	owned = MPI_Comm_dup(globalComm, &FTI_COMM_WORLD) == MPI_SUCCESS;
	types = PRIMITIVE;
	incremental = NONE_BEGUN;
	return nothing ? FTI_NREC : owned ? FTI_SCES : FTI_NSCS;
}

int FTI_Finalize(void) { return RUN(1, FTI_NSCS, "FTI_Finalize", Finalize, ); }

int FTI_Status(void) {
	int32_t status = 0;
	blobio_fti_failure e;
	return forked || blobioGoFtiStatus(P(&status), &e) ? 0 : status;
}

FTIT_allConfiguration FTI_GetConfig(const char *configFile, MPI_Comm globalComm) {
	(void)configFile, (void)globalComm;
	int32_t mode = -1;
	RUN(0, FTI_NSCS, "FTI_GetConfig", Mode, P(&mode), );
	return (FTIT_allConfiguration){{mode}};
}

// Reports an error that this rank has found without calling Go. fortran.c uses it too.
FTI_API int blobio_fti_wrong(int code, const char *call, const char *text);
int blobio_fti_wrong(int code, const char *call, const char *text) {
	blobio_fail(code, text);
	fprintf(stderr, "blobio: %s: %s\n", call, text);
	return FTI_NSCS;
}

int FTI_InitType(fti_id_t *type, int size) {
	if (!type || size <= 0 || types == TYPES) {
		if (type)
			*type = FTI_NSCS;
		return blobio_fti_wrong(BLOBIO_EINVAL, "FTI_InitType", !type ? "type is NULL" : size <= 0 ? "the size of the type is not positive" : "64 types are defined already, want at most 64");
	}
	sizes[types] = size;
	*type = types++;
	return FTI_SCES;
}

static int size_of(fti_id_t type) { return type < 0 || type >= types ? 0 : sizes[type]; }

int FTI_Protect(int id, void *ptr, int64_t count, fti_id_t tid) {
	return RUN(0, FTI_NSCS, "FTI_Protect", Protect, id, P(ptr), count, size_of(tid), );
}

int64_t FTI_GetStoredSize(int id) {
	int64_t size = 0;
	RUN(0, FTI_NSCS, "FTI_GetStoredSize", StoredSize, id, P(&size), );
	return size;
}

void *FTI_Realloc(int id, void *ptr) {
	int64_t size = 0;
	if (RUN(0, FTI_NSCS, "FTI_Realloc", StoredSize, id, P(&size), ) != FTI_SCES || size == 0)
		return ptr;
	void *moved = realloc(ptr, (size_t)size);
	if (!moved) {
		blobio_fti_wrong(BLOBIO_EMEMORY, "FTI_Realloc", "no memory");
		return ptr;
	}
	RUN(0, FTI_NSCS, "FTI_Realloc", Protect, id, P(moved), size, 1, );
	return moved;
}

int FTI_Checkpoint(int id, int level) {
	int rc = RUN(1, FTI_NSCS, "FTI_Checkpoint", Checkpoint, id, level, );
	return rc == FTI_SCES ? FTI_DONE : rc;
}

int FTI_Snapshot(void) {
	int32_t status = 0, taken = 0;
	if (RUN(0, FTI_NSCS, "FTI_Snapshot", Status, P(&status), ) != FTI_SCES)
		return FTI_NSCS;
	int rc = RUN(1, status ? FTI_NREC : FTI_NSCS, "FTI_Snapshot", Snapshot, P(&taken), );
	return rc == FTI_SCES && taken ? FTI_DONE : rc;
}

int FTI_Recover(void) { return RUN(0, FTI_NREC, "FTI_Recover", Recover, ); }

// FTI_RecoverVar opens the files.
int FTI_RecoverVarInit(void) {
	int32_t status;
	return RUN(0, FTI_NSCS, "FTI_RecoverVarInit", Status, P(&status), );
}
int FTI_RecoverVar(int id) { return RUN(0, FTI_NSCS, "FTI_RecoverVar", RecoverVar, id, ); }
int FTI_RecoverVarFinalize(void) {
	int32_t status;
	return RUN(0, FTI_NSCS, "FTI_RecoverVarFinalize", Status, P(&status), );
}

int FTI_InitICP(int id, int level, bool activate) {
	if (!activate)
		return FTI_SCES;
	int rc = RUN(1, FTI_NSCS, "FTI_InitICP", InitICP, id, level, );
	if (rc == FTI_SCES)
		incremental = BEGUN;
	else if (incremental != BEGUN)
		incremental = REFUSED;
	return rc;
}

// Programs check only the result of the last call, so every call must fail.
static int not_begun(const char *call) { return blobio_fti_wrong(BLOBIO_ESTATE, call, "FTI_InitICP has failed: there is no checkpoint"); }

int FTI_AddVarICP(int varID) {
	if (incremental == REFUSED)
		return not_begun("FTI_AddVarICP");
	return incremental == BEGUN ? RUN(0, FTI_NSCS, "FTI_AddVarICP", AddVarICP, varID, ) : FTI_SCES;
}

int FTI_FinalizeICP(void) {
	int was = incremental;
	incremental = NONE_BEGUN;
	if (was == REFUSED)
		return not_begun("FTI_FinalizeICP");
	return was == BEGUN ? RUN(1, FTI_NSCS, "FTI_FinalizeICP", FinalizeICP, ) : FTI_SCES;
}

int FTI_setIDFromString(const char *name) {
	int32_t id = -1;
	RUN(0, FTI_NSCS, "FTI_setIDFromString", SetID, P(name), P(&id), );
	return id;
}

int FTI_getIDFromString(const char *name) {
	int32_t id = -1;
	RUN(0, FTI_NSCS, "FTI_getIDFromString", GetID, P(name), P(&id), );
	return id;
}

// --- refused calls

#define NONE(call, args, what)                                                                                         \
	int call args { return blobio_fti_wrong(BLOBIO_EUNSUPPORTED, #call, what " not supported: see docs/guide-from-fti.md"); }
#pragma GCC diagnostic ignored "-Wunused-parameter"

NONE(FTI_GetStageDir, (char *stageDir, int maxLen), "staging is")
NONE(FTI_GetStageStatus, (int ID), "staging is")
NONE(FTI_SendFile, (const char *lpath, const char *rpath), "staging is")
NONE(FTI_InitGroup, (FTIT_H5Group * h5group, const char *name, FTIT_H5Group *parent), "HDF5 groups are")
NONE(FTI_RenameGroup, (FTIT_H5Group * h5group, const char *name), "HDF5 groups are")
NONE(FTI_SetAttribute, (int id, FTIT_attribute attribute, FTIT_attributeFlag flag), "attributes of HDF5 datasets are")
NONE(FTI_DefineDataset, (int id, int rank, int64_t *dimLength, const char *name, FTIT_H5Group *h5group), "HDF5 datasets are")
NONE(FTI_DefineGlobalDataset, (int id, int rank, FTIT_hsize_t *dimLength, const char *name, FTIT_H5Group *h5group, fti_id_t tid), "HDF5 datasets are")
NONE(FTI_AddSubset, (int id, int rank, FTIT_hsize_t *offset, FTIT_hsize_t *count, int did), "HDF5 datasets are")
NONE(FTI_UpdateGlobalDataset, (int id, int rank, FTIT_hsize_t *dimLength), "HDF5 datasets are")
NONE(FTI_UpdateSubset, (int id, int rank, FTIT_hsize_t *offset, FTIT_hsize_t *count, int did), "HDF5 datasets are")
NONE(FTI_RecoverDatasetDimension, (int did), "HDF5 datasets are")
NONE(FTI_GetDatasetRank, (int did), "HDF5 datasets are")
FTIT_hsize_t *FTI_GetDatasetSpan(int did, int rank) {
	FTI_GetDatasetRank(did);
	return NULL;
}
NONE(FTI_InitCompositeType, (const char *name, size_t size, FTIT_H5Group *h5g), "composite types are")
NONE(FTI_AddScalarField, (fti_id_t id, const char *name, fti_id_t fid, int64_t offset), "composite types are")
NONE(FTI_AddVectorField, (fti_id_t id, const char *name, fti_id_t tid, int64_t offset, int ndims, int64_t *dim_sizes), "composite types are")
NONE(FTI_BitFlip, (int datasetID), "injected faults are")
