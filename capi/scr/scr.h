/* The C API of the Scalable Checkpoint/Restart library, version 3, over blobio: programs written for it compile and link
 * unchanged (-lblobio_scr -lblobio_mpi). Files, directories and parameters are SCR's. See docs/guide-from-scr.md. */
#ifndef BLOBIO_SCR_H
#define BLOBIO_SCR_H

#define SCR_MAJOR_VERSION "3"
#define SCR_MINOR_VERSION "1"
#define SCR_PATCH_VERSION "0"
#define SCR_VERSION "v3.1.0"

/* What all functions return, unless they say otherwise. An error has a line on standard error, and the text of blobio_last_error. */
#define SCR_SUCCESS (0)
#define SCR_FAILURE (1)

/* Bytes of a buffer for a name, with its NUL. */
#define SCR_MAX_FILENAME 1024

/* Flags of SCR_Start_output. */
#define SCR_FLAG_NONE (0)
#define SCR_FLAG_CHECKPOINT (1 << 0) /* a run may start from it */
#define SCR_FLAG_OUTPUT (1 << 1)     /* it is wanted in the prefix directory */

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

/* Between MPI_Init and MPI_Finalize. SCR_Finalize flushes what is to be flushed. After it SCR_Init may be called again. */
SCR_API int SCR_Init(void);
SCR_API int SCR_Finalize(void);

/* "KEY=VALUE" sets, "KEY=" takes it back, both before SCR_Init only; "KEY" asks. A blank ends the value, unless a backslash is before it. The value is the caller's to free; NULL: none, or an error. */
SCR_API const char *SCR_Config(const char *config);
SCR_API const char *SCR_Configf(const char *format, ...) SCR_PRINTF;

/* Where this rank must write the file between a start and its complete, or can read it. file has SCR_MAX_FILENAME bytes. */
SCR_API int SCR_Route_file(const char *name, char *file);

/* name is NULL or has SCR_MAX_FILENAME bytes. A flag that is NULL, here and below, is an error of this rank alone. SCR_Complete_restart fails on all ranks unless valid is 1 on all: then ask again for an older one. */
SCR_API int SCR_Have_restart(int *flag, char *name);
SCR_API int SCR_Start_restart(char *name);
SCR_API int SCR_Complete_restart(int valid);

SCR_API int SCR_Need_checkpoint(int *flag);
SCR_API int SCR_Start_checkpoint(void);
SCR_API int SCR_Complete_checkpoint(int valid);

/* name may be NULL: SCR's default. SCR_Complete_output fails on all ranks unless valid is 1 on all. */
SCR_API int SCR_Start_output(const char *name, int flags);
SCR_API int SCR_Complete_output(int valid);

/* The run starts from this dataset; it is no longer in the index; its files are deleted. */
SCR_API int SCR_Current(const char *name);
SCR_API int SCR_Drop(const char *name);
SCR_API int SCR_Delete(const char *name);

SCR_API int SCR_Should_exit(int *flag);
SCR_API char *SCR_Get_version(void);

#ifdef __cplusplus
}
#endif

#endif
