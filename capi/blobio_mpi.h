/* blobio_mpi.h: functions of blobio.h for ranks that are MPI processes. They are in libblobio_mpi.so.
 *
 * The library duplicates the communicator, and close frees the duplicate. All ranks must close before MPI_Finalize. The level
 * that MPI_Query_thread returns determines which threads may call:
 *
 *   SINGLE, FUNNELED   collective functions on the thread that initialized MPI (else an error)
 *   SERIALIZED         on any thread, while no other thread is in MPI
 *   MULTIPLE           on any thread
 *
 * The library calls MPI only in its collective functions, on the calling thread.
 */
#ifndef BLOBIO_MPI_H
#define BLOBIO_MPI_H

#include <mpi.h>

#include "blobio.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Like blobio_create, blobio_append and blobio_open, for all ranks of an intra-communicator. path and options must be the same
 * on all ranks. Collective. */
BLOBIO_API int blobio_create_mpi(MPI_Comm comm, const char *path, const char *options, blobio_file **file);
BLOBIO_API int blobio_append_mpi(MPI_Comm comm, const char *path, const char *options, blobio_file **file);
BLOBIO_API int blobio_open_mpi(MPI_Comm comm, const char *path, const char *options, blobio_file **file);

/* Like blobio_store_open, blobio_array_create and blobio_array_open, for all ranks of an intra-communicator, with the same
 * arguments on all ranks. Collective. Since 1.6. */
BLOBIO_API int blobio_store_open_mpi(MPI_Comm comm, const char *dir, const char *options, blobio_store **store);
BLOBIO_API int blobio_array_create_mpi(MPI_Comm comm, const char *dir, const char *name, blobio_type type, int ndims,
                                       const int64_t *shape, const char *options, blobio_array **array);
BLOBIO_API int blobio_array_open_mpi(MPI_Comm comm, const char *dir, const char *name, int64_t version, const char *options,
                                     blobio_array **array);

#ifdef __cplusplus
}
#endif
#endif
