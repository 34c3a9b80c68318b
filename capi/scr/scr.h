/* The C API of the Scalable Checkpoint/Restart library (SCR), version 3, over blobio. Programs written for SCR compile unchanged
 * and link to -lblobio_scr -lblobio_mpi. Files, directories and parameters are the same as with SCR. See docs/guide-from-scr.md. */
#ifndef BLOBIO_SCR_H
#define BLOBIO_SCR_H

#define SCR_MAJOR_VERSION "3"
#define SCR_MINOR_VERSION "1"
#define SCR_PATCH_VERSION "0"
#define SCR_VERSION "v3.1.0"

/* Results of all functions, except where noted. After an error, a line is printed on standard error, and blobio_last_error
 * returns its text. */
#define SCR_SUCCESS (0)
#define SCR_FAILURE (1)

/* Bytes of a buffer for a name, with its NUL. */
#define SCR_MAX_FILENAME 1024

/* Flags of SCR_Start_output. */
#define SCR_FLAG_NONE (0)
#define SCR_FLAG_CHECKPOINT (1 << 0) /* a run may restart from it */
#define SCR_FLAG_OUTPUT (1 << 1)     /* it is copied to the prefix directory */

#ifndef SCR_API
#define SCR_API extern
#endif

#if defined(__GNUC__)
#define SCR_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define SCR_PRINTF
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* All ranks of MPI_COMM_WORLD must make the same calls, with the same names and flags, except of SCR_Route_file and
 * SCR_Get_version. */

/* Call these between MPI_Init and MPI_Finalize. SCR_Finalize completes pending flushes. Afterwards SCR_Init may be called again. */
SCR_API int SCR_Init(void);
SCR_API int SCR_Finalize(void);

/* "KEY=VALUE" sets a parameter and "KEY=" removes it, both only before SCR_Init; "KEY" returns its value. A blank ends the
 * value, unless a backslash precedes the blank. The caller must free the returned value. NULL means that the parameter has no
 * value, or an error. */
SCR_API const char *SCR_Config(const char *config);
SCR_API const char *SCR_Configf(const char *format, ...) SCR_PRINTF;

/* Returns in file the path where this rank must write the file between a start and its complete function, or where it can read
 * the file. The buffer file has SCR_MAX_FILENAME bytes; after an error it is empty. */
SCR_API int SCR_Route_file(const char *name, char *file);

/* name is NULL or has SCR_MAX_FILENAME bytes. A flag that is NULL, here and below, is an error only on this rank. If valid is 0
 * on any rank, SCR_Complete_restart fails on all ranks. Then call SCR_Have_restart again, which offers an older checkpoint. */
SCR_API int SCR_Have_restart(int *flag, char *name);
SCR_API int SCR_Start_restart(char *name);
SCR_API int SCR_Complete_restart(int valid);

SCR_API int SCR_Need_checkpoint(int *flag);
SCR_API int SCR_Start_checkpoint(void);
SCR_API int SCR_Complete_checkpoint(int valid);

/* If name is NULL, SCR's default name is used. If valid is 0 on any rank, SCR_Complete_output fails on all ranks. */
SCR_API int SCR_Start_output(const char *name, int flags);
SCR_API int SCR_Complete_output(int valid);

/* SCR_Current makes the next SCR_Have_restart, in this run or the next run, offer this dataset. SCR_Drop removes the dataset
 * from the index. SCR_Delete also deletes its files. */
SCR_API int SCR_Current(const char *name);
SCR_API int SCR_Drop(const char *name);
SCR_API int SCR_Delete(const char *name);

SCR_API int SCR_Should_exit(int *flag);
SCR_API char *SCR_Get_version(void);

#ifdef __cplusplus
}
#endif

#endif
