//go:build mpi && cgo

#include "raw.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static char *in, *out, *base;
static int *counts, *displs;
static MPI_Win win;

int raw_open(int64_t n) {
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	in = malloc(n * size);
	out = malloc(n * size);
	memset(in, 1, n * size);
	memset(out, 1, n * size);
	counts = malloc(sizeof(int) * size);
	displs = malloc(sizeof(int) * size);
	if (MPI_Win_allocate_shared(n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) != MPI_SUCCESS) return 1;
	MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
	return 0;
}

double raw_run(int what, int n, int times) {
	for (int i = 0; i < size; i++) {
		counts[i] = n;
		displs[i] = i * n;
	}
	int next = (rank + 1) % size;
	MPI_Barrier(MPI_COMM_WORLD);
	double start = MPI_Wtime();
	for (int i = 0; i < times; i++) {
		switch (what) {
		case PINGPONG: // of ranks 2k and 2k+1
			if (rank % 2 == 0 && rank + 1 < size) {
				MPI_Send(in, n, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
				MPI_Recv(out, n, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			} else if (rank % 2 == 1) {
				MPI_Recv(out, n, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				MPI_Send(in, n, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD);
			}
			break;
		case BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
		case ALLGATHER: MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD); break;
		case ALLTOALLV:
			MPI_Alltoallv(in, counts, displs, MPI_BYTE, out, counts, displs, MPI_BYTE, MPI_COMM_WORLD);
			break;
		case ALLREDUCE: MPI_Allreduce(in, out, n / 8, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD); break;
		case BCAST: MPI_Bcast(in, n, MPI_BYTE, 0, MPI_COMM_WORLD); break;
		case PUT:
			MPI_Put(in, n, MPI_BYTE, next, 0, n, MPI_BYTE, win);
			MPI_Win_flush(next, win);
			break;
		case GET:
			MPI_Get(out, n, MPI_BYTE, next, 0, n, MPI_BYTE, win);
			MPI_Win_flush(next, win);
			break;
		}
	}
	return MPI_Wtime() - start;
}

void raw_close(void) {
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	free(in), free(out), free(counts), free(displs);
}
