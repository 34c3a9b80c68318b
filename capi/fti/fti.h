/* The C API of the Fault Tolerance Interface (FTI) over blobio. Programs written for FTI compile unchanged and link to
 * -lblobio_fti -lblobio_mpi. Configuration files, directories and checkpoint files are the same as with FTI. See
 * docs/guide-from-fti.md. */
#ifndef FTI_INCLUDE_FTI_H_
#define FTI_INCLUDE_FTI_H_

/* Headers that FTI's header includes, for programs that rely on this. */
#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a buffer for the name of an attribute, with its NUL. */
#define FTI_BUFS 256

/* Results. After an error, a line is printed on standard error, and blobio_last_error returns its text. */
#define FTI_DONE 1  /* a checkpoint was taken */
#define FTI_SCES 0  /* success */
#define FTI_NSCS -1 /* an error */
#define FTI_NREC -2 /* nothing was recovered */
#define FTI_HEAD 2  /* never returned, because there are no heads */

/* For programs that send this value to heads. */
#define FTI_ENDW 995

/* A macro of FTI's header, for programs that use it. */
#define talloc(type, num) ((type *)malloc(sizeof(type) * (size_t)(num)))

/* States of staging, which is not supported. */
#define FTI_SI_FAIL 0x4
#define FTI_SI_SCES 0x3
#define FTI_SI_ACTV 0x2
#define FTI_SI_PEND 0x1
#define FTI_SI_NINI 0x0

typedef int fti_id_t;
#define FTIT_type fti_id_t
typedef int64_t FTIT_hsize_t;

/* Levels of a checkpoint, and of differential checkpoints. */
typedef enum {
	FTI_L1 = 1, /* on the node of the rank */
	FTI_L2,     /* like L1, and a copy on another node */
	FTI_L3,     /* like L1, and parity on the nodes of the group; half of them may be lost */
	FTI_L4,     /* in the global directory */
	FTI_L1_DCP,
	FTI_L2_DCP,
	FTI_L3_DCP,
	FTI_L4_DCP,
	FTI_L4_H5_SINGLE, /* not supported */
	FTI_MIN_LEVEL_ID = FTI_L1,
	FTI_MAX_LEVEL_ID = FTI_L4_H5_SINGLE
} FTIT_level;

/* The value of ckpt_io in the configuration file, as FTI_GetConfig returns it. */
#define FTI_IO_POSIX 1001
#define FTI_IO_MPI 1002
#define FTI_IO_FTIFF 1003
typedef struct FTIT_configuration {
	int ioMode; /* -1 if FTI_Init was not called */
} FTIT_configuration;
typedef struct FTIT_allConfiguration {
	FTIT_configuration configuration;
} FTIT_allConfiguration;

/* These types exist only for declarations. Functions with these types return errors. */
typedef struct FTIT_H5Group {
	int id;
} FTIT_H5Group;
typedef enum { FTI_ATTRIBUTE_NAME = 1, FTI_ATTRIBUTE_DIM = 2 } FTIT_attributeFlag;
typedef struct FTIT_dimension {
	int ndims;
	int64_t count[32];
} FTIT_dimension;
typedef struct FTIT_attribute {
	char name[FTI_BUFS];
	FTIT_dimension dim;
} FTIT_attribute;

#ifndef FTI_API
#define FTI_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The ranks of the program, in the order of the communicator of FTI_Init. Valid after FTI_Init. */
FTI_API MPI_Comm FTI_COMM_WORLD;

FTI_API fti_id_t FTI_CHAR; /* char */
FTI_API fti_id_t FTI_SHRT; /* short */
FTI_API fti_id_t FTI_INTG; /* int */
FTI_API fti_id_t FTI_LONG; /* long */
FTI_API fti_id_t FTI_UCHR; /* unsigned char */
FTI_API fti_id_t FTI_USHT; /* unsigned short */
FTI_API fti_id_t FTI_UINT; /* unsigned int */
FTI_API fti_id_t FTI_ULNG; /* unsigned long */
FTI_API fti_id_t FTI_SFLT; /* float */
FTI_API fti_id_t FTI_DBLE; /* double */
FTI_API fti_id_t FTI_LDBE; /* long double */

/* Collective functions, which all ranks must call together: FTI_Init, FTI_Checkpoint, FTI_Snapshot, FTI_InitICP,
 * FTI_FinalizeICP, FTI_Finalize. */

/* FTI_NREC means that a restart was requested, but there is no checkpoint; the run starts from the beginning. A second call
 * without FTI_Finalize restarts from the last checkpoint. The program must then define types and variables again. */
FTI_API int FTI_Init(const char *configFile, MPI_Comm globalComm);
FTI_API int FTI_Finalize(void);
/* 0: a new run, or the data are recovered; 1: a restart; 2: a restart from the checkpoint that a finished run has kept. */
FTI_API int FTI_Status(void);

/* Returns the configuration of FTI_Init. The arguments have no effect. */
FTI_API FTIT_allConfiguration FTI_GetConfig(const char *configFile, MPI_Comm globalComm);

FTI_API int FTI_InitType(fti_id_t *type, int size);
/* Another call with the same id changes address, count and type. */
FTI_API int FTI_Protect(int id, void *ptr, int64_t count, fti_id_t tid);
/* Returns bytes, or 0 if the variable is not in the last checkpoint. */
FTI_API int64_t FTI_GetStoredSize(int id);
/* Calls realloc with the stored size, then FTI_Protect. If this fails, it returns ptr, which stays valid. */
FTI_API void *FTI_Realloc(int id, void *ptr);

/* Returns FTI_DONE, or an error. */
FTI_API int FTI_Checkpoint(int id, int level);
/* In a restart, calls FTI_Recover. Otherwise takes a checkpoint if one is due, and then returns FTI_DONE. */
FTI_API int FTI_Snapshot(void);
FTI_API int FTI_Recover(void);

FTI_API int FTI_RecoverVarInit(void);
FTI_API int FTI_RecoverVar(int id);
FTI_API int FTI_RecoverVarFinalize(void);

/* Takes a checkpoint to which variables are added one by one. If activate is false, the three functions do nothing. */
FTI_API int FTI_InitICP(int id, int level, bool activate);
FTI_API int FTI_AddVarICP(int varID);
FTI_API int FTI_FinalizeICP(void);

/* Returns the id of a variable with this name, also after a restart. FTI_getIDFromString returns -1 if there is none. */
FTI_API int FTI_setIDFromString(const char *name);
FTI_API int FTI_getIDFromString(const char *name);

/* Staging, HDF5, composite types and fault injection. These functions always return an error. */
FTI_API int FTI_GetStageDir(char *stageDir, int maxLen);
FTI_API int FTI_GetStageStatus(int ID);
FTI_API int FTI_SendFile(const char *lpath, const char *rpath);
FTI_API int FTI_InitGroup(FTIT_H5Group *h5group, const char *name, FTIT_H5Group *parent);
FTI_API int FTI_RenameGroup(FTIT_H5Group *h5group, const char *name);
FTI_API int FTI_SetAttribute(int id, FTIT_attribute attribute, FTIT_attributeFlag flag);
FTI_API int FTI_DefineDataset(int id, int rank, int64_t *dimLength, const char *name, FTIT_H5Group *h5group);
FTI_API int FTI_DefineGlobalDataset(int id, int rank, FTIT_hsize_t *dimLength, const char *name, FTIT_H5Group *h5group, fti_id_t tid);
FTI_API int FTI_AddSubset(int id, int rank, FTIT_hsize_t *offset, FTIT_hsize_t *count, int did);
FTI_API int FTI_UpdateGlobalDataset(int id, int rank, FTIT_hsize_t *dimLength);
FTI_API int FTI_UpdateSubset(int id, int rank, FTIT_hsize_t *offset, FTIT_hsize_t *count, int did);
FTI_API int FTI_RecoverDatasetDimension(int did);
FTI_API FTIT_hsize_t *FTI_GetDatasetSpan(int did, int rank); /* NULL */
FTI_API int FTI_GetDatasetRank(int did);
FTI_API fti_id_t FTI_InitCompositeType(const char *name, size_t size, FTIT_H5Group *h5g);
FTI_API int FTI_AddScalarField(fti_id_t id, const char *name, fti_id_t fid, int64_t offset);
FTI_API int FTI_AddVectorField(fti_id_t id, const char *name, fti_id_t tid, int64_t offset, int ndims, int64_t *dim_sizes);
FTI_API int FTI_BitFlip(int datasetID);

#ifdef __cplusplus
}
#endif

#endif
