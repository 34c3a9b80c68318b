/* The interface between scr.c (libblobio_scr) and scr.go (libblobio_mpi). Not installed. */
#ifndef BLOBIO_SCR_EDGE_H
#define BLOBIO_SCR_EDGE_H

#include <stdint.h>

typedef struct blobio_scr_failure {
	char text[3072];
} blobio_scr_failure;

/* Internal symbols, with a version of their own. A word is an address or, for a communicator, MPI's handle. */
#define GO(name, ...) extern __attribute__((visibility("default"))) int32_t blobioGoScr##name(__VA_ARGS__)
typedef __SIZE_TYPE__ word;
typedef long long whole; /* the type that Go declares */
typedef blobio_scr_failure *failure;

GO(Init, word comm, word environ, failure);
GO(Finalize, failure);
GO(Config, word text, word environ, word value, whole size, word set, failure);
GO(Route, word name, word file, whole size, failure);
GO(HaveRestart, word flag, word name, whole size, failure);
GO(StartRestart, word name, whole size, failure);
GO(CompleteRestart, int32_t valid, failure);
GO(NeedCheckpoint, word flag, failure);
GO(Start, word name, int32_t flags, failure);
GO(Complete, int32_t valid, failure);
GO(ShouldExit, word flag, failure);
GO(Current, word name, failure);
GO(Drop, word name, failure);
GO(Delete, word name, failure);

#undef GO
#endif
