/* The C API of the Scalable Checkpoint/Restart library, version 3, over blobio: programs written for it compile and link
 * unchanged (-lblobio_scr -lblobio_mpi). Files, directories and parameters are SCR's. See docs/guide-from-scr.md. */
#ifndef BLOBIO_SCR_H
#define BLOBIO_SCR_H

#define SCR_MAJOR_VERSION "3"
#define SCR_MINOR_VERSION "1"
#define SCR_PATCH_VERSION "0"
#define SCR_VERSION "v3.1.0"

/* Results of all functions, except as noted. An error prints a line on standard error; blobio_last_error returns its text. */
#define SCR_SUCCESS (0)
#define SCR_FAILURE (1)

/* Bytes of a buffer for a name, with its NUL. */
#define SCR_MAX_FILENAME 1024

/* Flags of SCR_Start_output. */
#define SCR_FLAG_NONE (0)
#define SCR_FLAG_CHECKPOINT (1 << 0) /* a run may start from it */
#define SCR_FLAG_OUTPUT (1 << 1)     /* copy it to the prefix directory */

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

/* Except for SCR_Route_file and SCR_Get_version all ranks of MPI_COMM_WORLD make the same calls, with the same names and flags. */

/* Between MPI_Init and MPI_Finalize. SCR_Finalize completes pending flushes. Afterwards SCR_Init may be called again. */
SCR_API int SCR_Init(void);
SCR_API int SCR_Finalize(void);

/* "KEY=VALUE" sets a parameter and "KEY=" removes it, both only before SCR_Init; "KEY" returns its value. A blank ends the value, unless a backslash precedes it. The caller frees the returned value; NULL: none, or an error. */
SCR_API const char *SCR_Config(const char *config);
SCR_API const char *SCR_Configf(const char *format, ...) SCR_PRINTF;

/* Returns the path where this rank must write the file, between a start and its complete, or can read it. file has SCR_MAX_FILENAME bytes. */
SCR_API int SCR_Route_file(const char *name, char *file);

/* name is NULL or has SCR_MAX_FILENAME bytes. A flag that is NULL, here and below, is an error of this rank alone. SCR_Complete_restart fails on all ranks unless valid is 1 on all: then call SCR_Have_restart again for an older one. */
SCR_API int SCR_Have_restart(int *flag, char *name);
SCR_API int SCR_Start_restart(char *name);
SCR_API int SCR_Complete_restart(int valid);

SCR_API int SCR_Need_checkpoint(int *flag);
SCR_API int SCR_Start_checkpoint(void);
SCR_API int SCR_Complete_checkpoint(int valid);

/* name may be NULL: SCR's default. SCR_Complete_output fails on all ranks unless valid is 1 on all. */
SCR_API int SCR_Start_output(const char *name, int flags);
SCR_API int SCR_Complete_output(int valid);

/* SCR_Current: the next SCR_Have_restart, in this run or the next one, offers this dataset. SCR_Drop: removes it from the index. SCR_Delete: deletes its files too. */
SCR_API int SCR_Current(const char *name);
SCR_API int SCR_Drop(const char *name);
SCR_API int SCR_Delete(const char *name);

SCR_API int SCR_Should_exit(int *flag);
SCR_API char *SCR_Get_version(void);

#ifdef __cplusplus
}
#endif

#endif
