#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

enum { NOTICE = 2048 }; // bytes of a notice at most; small enough to be sent eagerly

// A control communicator with its posted receive.
typedef struct {
	MPI_Comm comm;
	MPI_Request req;
	int seen; // the notice is in buf
	int len;
	char buf[NOTICE];
} control;

enum { PENDING, DONE, NOTICED, FAILED };

// Levels of threads: 0 SINGLE, 1 FUNNELED, 2 SERIALIZED, 3 MULTIPLE.
int glue_init(int want, int *level);
int glue_level(int *level, int *main_thread);
int glue_running(void); // initialized and not finalized
void glue_yield(void);

int control_open(control *k, MPI_Comm from);
int control_quiet(control *k); // cancels the receive
int control_close(control *k);
int control_poll(control *k);
// test tries req up to spins times and looks at k in between; with stay it ignores a notice.
int glue_test(MPI_Request *req, control *k, int stay, int spins, int *code);

MPI_Comm comm_world(void);
MPI_Comm comm_of_word(uintptr_t w);
uintptr_t word_of_comm(MPI_Comm c);
MPI_Comm comm_of_fortran(int f);
int comm_is_null(MPI_Comm c);
int comm_info(MPI_Comm c, int *rank, int *size, int *tag_max);
int comm_dup(MPI_Comm c, MPI_Comm *out);
int comm_split(MPI_Comm c, int color, int key, MPI_Comm *out); // color < 0: none
int comm_split_node(MPI_Comm c, MPI_Comm *out);
// comm_places gives the ranks in world of the n ranks of c.
int comm_places(MPI_Comm c, MPI_Comm world, int n, int *ranks);
int comm_first(MPI_Comm parent, MPI_Comm child, int *rank); // the first rank of child, as a rank of parent

enum { OP_SUM, OP_MAX, OP_MIN, OP_AND }; // as comm.Op, and one more
int coll_allreduce(int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r);
int coll_exscan(int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r);
int coll_bcast(void *b, int n, int root, MPI_Comm c, MPI_Request *r);
int coll_allgather64(int64_t *in, int64_t *out, MPI_Comm c, MPI_Request *r);
int coll_alltoall64(int64_t *in, int64_t *out, MPI_Comm c, MPI_Request *r);
int coll_gatherv(void *in, int n, void *out, int *counts, int *displs, int root, MPI_Comm c, MPI_Request *r);
int coll_allgatherv(void *in, int n, void *out, int *counts, int *displs, MPI_Comm c, MPI_Request *r);
int coll_alltoallv(void *in, int *nin, int *din, void *out, int *nout, int *dout, MPI_Comm c, MPI_Request *r);

int msg_send(void *b, int n, int to, int tag, MPI_Comm c, MPI_Request *r);
// msg_probe takes a message off the queue and gives its length; 0 with *flag = 0 if there is none.
int msg_probe(int from, int tag, MPI_Comm c, int *flag, int *len, MPI_Message *m);
int msg_recv(void *b, int n, MPI_Message *m, MPI_Request *r);

int win_open(MPI_Comm c, int64_t n, void **base, MPI_Win *w);
// win_part returns the part of a rank; an error unless all ranks share memory.
int win_part(MPI_Win w, int rank, void **base);
int mem_here(MPI_Comm c, int *whole); // *whole: all ranks share memory
// mem_open makes n > 0 bytes that all ranks see. After an error *w is the window, if there is one, or null.
int mem_open(MPI_Comm c, int64_t n, void **base, MPI_Win *w);
MPI_Win win_none(void);
int win_is_null(MPI_Win w);
int host_name(char *buf, int *n); // MPI_MAX_PROCESSOR_NAME
int win_free(MPI_Win *w);
int win_sync(MPI_Win w);
int win_put(void *b, int n, int rank, int64_t off, MPI_Win w);
int win_get(void *b, int n, int rank, int64_t off, MPI_Win w);
int win_put_element(int64_t *v, int rank, int64_t off, MPI_Win w); // atomic with other ranks' puts

// See node.go. A bell is a word on which one process sleeps, and a flag that it sleeps.
void bell_wake(void *bell);
// wait yields, and returns DONE once the word at is past round (both wrap around). It sleeps up to ns on a bell, but not if one of the words pokes and
// broken differs from poked or known.
int node_wait(void *bell, void *at, uint32_t round, int yields, void *pokes, uint32_t poked, void *broken, uint32_t known, int64_t ns);

// Blocking: broadcast from rank 0, all-gather, and agreement on success.
int node_bcast(void *b, int n, MPI_Comm c);
int node_gather(int *v, int n, int *all, MPI_Comm c);
int node_all(int ok, int *all, MPI_Comm c);

void error_text(int code, char *buf); // MPI_MAX_ERROR_STRING
enum { ERROR_TEXT = MPI_MAX_ERROR_STRING, HOST_NAME = MPI_MAX_PROCESSOR_NAME };
