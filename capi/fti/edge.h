/* The interface between fti.c (libblobio_fti) and fti.go (libblobio_mpi). Not installed. */
#ifndef BLOBIO_FTI_EDGE_H
#define BLOBIO_FTI_EDGE_H

#include <stdint.h>

typedef struct blobio_fti_failure {
	char text[3072];
} blobio_fti_failure;

/* Internal symbols, with a version of their own. A word is an address or, for a communicator, MPI's handle. */
#define GO(name, ...) extern __attribute__((visibility("default"))) int32_t blobioGoFti##name(__VA_ARGS__)
typedef __SIZE_TYPE__ fti_word;
typedef long long fti_whole; /* the type that Go declares */
typedef blobio_fti_failure *fti_failure;

GO(Init, fti_word comm, fti_word config, fti_word nothing, fti_failure);
GO(Finalize, fti_failure);
GO(Status, fti_word status, fti_failure);
GO(Mode, fti_word mode, fti_failure);
GO(Protect, int32_t id, fti_word p, fti_whole count, fti_whole size, fti_failure);
GO(Checkpoint, int32_t id, int32_t level, fti_failure);
GO(Snapshot, fti_word taken, fti_failure);
GO(Recover, fti_failure);
GO(RecoverVar, int32_t id, fti_failure);
GO(StoredSize, int32_t id, fti_word size, fti_failure);
GO(InitICP, int32_t id, int32_t level, fti_failure);
GO(AddVarICP, int32_t id, fti_failure);
GO(FinalizeICP, fti_failure);
GO(SetID, fti_word name, fti_word id, fti_failure);
GO(GetID, fti_word name, fti_word id, fti_failure);

#undef GO
#endif
