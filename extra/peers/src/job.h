/* A job: the content of one history file of an E3SM case, the owners of its elements,
 * and this rank's data. blobio writes job files (internal/bench/jobfile.go tells the
 * format); all peers write the same job, each through its own library. */
#ifndef JOB_H
#define JOB_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef long long i64;

/* Types of netCDF, as numbers. */
enum { T_BYTE = 1, T_CHAR = 2, T_SHORT = 3, T_INT = 4, T_FLOAT = 5, T_DOUBLE = 6, T_INT64 = 10 };

typedef struct {
	char *name;
	i64 len; /* 0: unlimited */
} Dim;

typedef struct {
	char *name;
	int type;
	i64 n;       /* elements */
	void *value; /* in the order of the host */
} Att;

typedef struct {
	int ndims, *dims; /* ids in Job.dims, slowest first */
	i64 nreqs;        /* of this rank: canonical offsets and lengths, in elements */
	i64 *offsets, *lengths;
	i64 start, count;      /* of this rank's blob, in elements */
	i64 nelems, max_nreqs; /* of all ranks */
} Map;

typedef struct {
	char *name;
	int type, mem;   /* in the file, in memory */
	int map, record; /* map: 1-based, 0 if not decomposed */
	int ndims, *dims;
	int natts;
	Att *atts;
	i64 count;   /* elements that this rank writes of a record; 0: nothing */
	i64 whole;   /* elements of one record */
	i64 records; /* 1 if it is not a record variable */
	char **data; /* by record; later records may share an earlier record's data */
} Var;

typedef struct {
	int ranks, rank;
	i64 records, flush; /* records between flushes; -1: one at the end */
	i64 distinct;       /* number of records with distinct data, which then repeat; 0: all */
	int sync;
	int ndims, natts, nmaps, nvars;
	Dim *dims;
	Att *atts;
	Map *maps;
	Var *vars;
	double clock[5]; /* seconds by phase */
	double since;
} Job;

enum { P_OPEN, P_DEFINE, P_POST, P_FLUSH, P_CLOSE };

/* next_phase adds the time since the last call to the phase. */
void next_phase(Job *job, int phase);

/* Writes the job to path. */
typedef void writer(Job *job, const char *path, MPI_Info info);

/* Everything but the writing: MPI, arguments, the job file, data, the clock, the report. */
int peer_main(int argc, char **argv, const char *library, writer *write);

void die(const char *format, ...);
void *get(size_t bytes); /* malloc that does not fail */
i64 size_of(int type);
MPI_Datatype mpi_of(int type);

/* The five variables that a blob file has for each map. */
enum { M_NREQS, M_START, M_COUNT, M_OFFSETS, M_LENGTHS, M_VARS };
extern const char *const map_var_name[M_VARS];
extern const char *const map_var_description[M_VARS];
int map_var_type(int m);

#define at_least_1(n) ((n) > 1 ? (n) : 1)

#endif
