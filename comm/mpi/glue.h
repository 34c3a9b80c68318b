#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

enum { NOTICE = 2048 }; // maximum size of a notice in bytes, small enough to be sent eagerly

// A control communicator with its posted receive for a notice.
typedef struct {
	MPI_Comm comm;
	MPI_Request req;
	int seen; // a notice is in buf
	int len;
	char buf[NOTICE];
} control;

enum { PENDING, DONE, NOTICED, FAILED };

// Thread levels: 0 SINGLE, 1 FUNNELED, 2 SERIALIZED, 3 MULTIPLE.
int glue_init(int want, int *level);
int glue_level(int *level, int *main_thread);
int glue_running(void); // initialized and not finalized
void glue_yield(void);

int control_open(control *k, MPI_Comm from);
int control_quiet(control *k); // cancels the receive
int control_close(control *k);
int control_poll(control *k);
// glue_test tests req up to spins times and checks k for a notice in between. If stay is not 0, a notice does not end the test.
int glue_test(MPI_Request *req, control *k, int stay, int spins, int *code);

MPI_Comm comm_world(void);
MPI_Comm comm_of_word(uintptr_t w);
uintptr_t word_of_comm(MPI_Comm c);
MPI_Comm comm_of_fortran(int f);
int comm_is_null(MPI_Comm c);
int comm_info(MPI_Comm c, int *rank, int *size, int *tag_max);
int comm_dup(MPI_Comm c, MPI_Comm *out);
int comm_split(MPI_Comm c, int color, int key, MPI_Comm *out); // color < 0: out is null
int comm_split_node(MPI_Comm c, MPI_Comm *out);
// comm_places stores in ranks the rank in world of each of the n ranks of c.
int comm_places(MPI_Comm c, MPI_Comm world, int n, int *ranks);
int comm_first(MPI_Comm parent, MPI_Comm child, int *rank); // the first rank of child, as a rank of parent

enum { OP_SUM, OP_MAX, OP_MIN, OP_AND }; // the operations of comm.Op, and AND
int coll_allreduce(int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r);
int coll_exscan(int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r);
int coll_bcast(void *b, int n, int root, MPI_Comm c, MPI_Request *r);
int coll_allgather64(int64_t *in, int64_t *out, MPI_Comm c, MPI_Request *r);
int coll_alltoall64(int64_t *in, int64_t *out, MPI_Comm c, MPI_Request *r);
int coll_gatherv(void *in, int n, void *out, int *counts, int *displs, int root, MPI_Comm c, MPI_Request *r);
int coll_allgatherv(void *in, int n, void *out, int *counts, int *displs, MPI_Comm c, MPI_Request *r);
int coll_alltoallv(void *in, int *nin, int *din, void *out, int *nout, int *dout, MPI_Comm c, MPI_Request *r);

int msg_send(void *b, int n, int to, int tag, MPI_Comm c, MPI_Request *r);
// msg_probe takes a message off the queue and stores its length. If there is no message, it sets *flag to 0.
int msg_probe(int from, int tag, MPI_Comm c, int *flag, int *len, MPI_Message *m);
int msg_recv(void *b, int n, MPI_Message *m, MPI_Request *r);

int win_open(MPI_Comm c, int64_t n, void **base, MPI_Win *w);
// win_part stores the address of a rank's part in *base. It fails unless all ranks share memory.
int win_part(MPI_Win w, int rank, void **base);
int mem_here(MPI_Comm c, int *whole); // sets *whole if all ranks share memory
// mem_open makes n > 0 bytes of shared memory. After an error *w is the window if it was made, and otherwise null.
int mem_open(MPI_Comm c, int64_t n, void **base, MPI_Win *w);
MPI_Win win_none(void);
int win_is_null(MPI_Win w);
int host_name(char *buf, int *n); // buf has MPI_MAX_PROCESSOR_NAME bytes
int win_free(MPI_Win *w);
int win_sync(MPI_Win w);
int win_put(void *b, int n, int rank, int64_t off, MPI_Win w);
int win_get(void *b, int n, int rank, int64_t off, MPI_Win w);
int win_put_element(int64_t *v, int rank, int64_t off, MPI_Win w); // atomic with other ranks' puts

// See node.go. A bell is a word on which one process sleeps, and a flag that it sleeps.
void bell_wake(void *bell);
// node_wait yields the core some times, then sleeps on a bell for up to ns. It returns DONE when the word at has passed round;
// both numbers wrap around. It does not sleep if *pokes differs from poked or *broken from known.
int node_wait(void *bell, void *at, uint32_t round, int yields, void *pokes, uint32_t poked, void *broken, uint32_t known, int64_t ns);

// node_cores returns the number of the node's cores, also of those that this process may not use.
int node_cores(void);

// Blocking collectives: broadcast from rank 0, all-gather, and whether ok is set on all ranks.
int node_bcast(void *b, int n, MPI_Comm c);
int node_gather(int *v, int n, int *all, MPI_Comm c);
int node_all(int ok, int *all, MPI_Comm c);

void error_text(int code, char *buf); // buf has MPI_MAX_ERROR_STRING bytes
enum { ERROR_TEXT = MPI_MAX_ERROR_STRING, HOST_NAME = MPI_MAX_PROCESSOR_NAME };
