//go:build mpi && cgo

#include "glue.h"
#include <sched.h>

#define TRY(x) do { int e_ = (x); if (e_ != MPI_SUCCESS) return e_; } while (0)

static MPI_Op op_of(int op) {
	switch (op) {
	case OP_SUM: return MPI_SUM;
	case OP_MAX: return MPI_MAX;
	case OP_MIN: return MPI_MIN;
	}
	return MPI_BAND;
}

static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

int glue_init(int want, int *level) {
	int got, main_thread;
	TRY(MPI_Init_thread(NULL, NULL, levels[want], &got));
	return glue_level(level, &main_thread);
}

int glue_level(int *level, int *main_thread) {
	int l;
	TRY(MPI_Query_thread(&l));
	for (*level = 3; *level > 0 && levels[*level] != l; --*level) {}
	return MPI_Is_thread_main(main_thread);
}

int glue_running(void) {
	int on = 0, off = 0;
	MPI_Initialized(&on);
	MPI_Finalized(&off);
	return on && !off;
}

int control_open(control *k, MPI_Comm from) {
	k->seen = k->len = 0;
	TRY(MPI_Comm_dup(from, &k->comm));
	TRY(MPI_Comm_set_errhandler(k->comm, MPI_ERRORS_RETURN));
	return MPI_Irecv(k->buf, NOTICE, MPI_BYTE, MPI_ANY_SOURCE, 0, k->comm, &k->req);
}

int control_quiet(control *k) {
	if (k->seen) return MPI_SUCCESS;
	TRY(MPI_Cancel(&k->req));
	return MPI_Wait(&k->req, MPI_STATUS_IGNORE);
}

int control_close(control *k) {
	TRY(control_quiet(k));
	return MPI_Comm_free(&k->comm);
}

int control_poll(control *k) {
	int done = 0;
	MPI_Status s;
	if (k->seen) return MPI_SUCCESS;
	TRY(MPI_Test(&k->req, &done, &s));
	if (done) {
		MPI_Get_count(&s, MPI_BYTE, &k->len);
		k->seen = 1;
	}
	return MPI_SUCCESS;
}

int glue_test(MPI_Request *req, control *k, int stay, int spins, int *code) {
	int done;
	for (int i = 0; i < spins; i++) {
		if ((*code = MPI_Test(req, &done, MPI_STATUS_IGNORE)) != MPI_SUCCESS) return FAILED;
		if (done) return DONE;
		if (i % 16 == 0) {
			if ((*code = control_poll(k)) != MPI_SUCCESS) return FAILED;
			if (k->seen && !stay) return NOTICED;
		}
		if (i >= 64) sched_yield();
	}
	return PENDING;
}

MPI_Comm comm_world(void) { return MPI_COMM_WORLD; }
MPI_Comm comm_of_word(uintptr_t w) { return (MPI_Comm)w; }
uintptr_t word_of_comm(MPI_Comm c) { return (uintptr_t)c; }
MPI_Comm comm_of_fortran(int f) { return MPI_Comm_f2c((MPI_Fint)f); }
int comm_is_null(MPI_Comm c) { return c == MPI_COMM_NULL; }

int comm_info(MPI_Comm c, int *rank, int *size, int *tag_max) {
	int *ub, flag = 0, inter = 0;
	TRY(MPI_Comm_test_inter(c, &inter));
	if (inter) return MPI_ERR_COMM;
	TRY(MPI_Comm_rank(c, rank));
	TRY(MPI_Comm_size(c, size));
	TRY(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag));
	*tag_max = flag ? *ub : 32767;
	return MPI_SUCCESS;
}

int comm_dup(MPI_Comm c, MPI_Comm *out) {
	TRY(MPI_Comm_dup(c, out));
	return MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
}

int comm_split(MPI_Comm c, int color, int key, MPI_Comm *out) {
	TRY(MPI_Comm_split(c, color < 0 ? MPI_UNDEFINED : color, key, out));
	return color < 0 ? MPI_SUCCESS : MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
}

int comm_split_node(MPI_Comm c, MPI_Comm *out) {
	TRY(MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, out));
	return MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
}

int comm_first(MPI_Comm parent, MPI_Comm child, int *rank) {
	MPI_Group from, to;
	int zero = 0;
	TRY(MPI_Comm_group(child, &from));
	TRY(MPI_Comm_group(parent, &to));
	TRY(MPI_Group_translate_ranks(from, 1, &zero, to, rank));
	TRY(MPI_Group_free(&from));
	return MPI_Group_free(&to);
}

int comm_places(MPI_Comm c, MPI_Comm world, int n, int *ranks) {
	MPI_Group from, to;
	int *own = malloc(sizeof(int) * n);
	for (int i = 0; i < n; i++) own[i] = i;
	TRY(MPI_Comm_group(c, &from));
	TRY(MPI_Comm_group(world, &to));
	TRY(MPI_Group_translate_ranks(from, n, own, to, ranks));
	free(own);
	TRY(MPI_Group_free(&from));
	return MPI_Group_free(&to);
}

int coll_allreduce(int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r) {
	return MPI_Iallreduce(in, out, n, MPI_INT64_T, op_of(op), c, r);
}
int coll_exscan(int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r) {
	return MPI_Iexscan(in, out, n, MPI_INT64_T, op_of(op), c, r);
}
int coll_bcast(void *b, int n, int root, MPI_Comm c, MPI_Request *r) {
	return MPI_Ibcast(b, n, MPI_BYTE, root, c, r);
}
int coll_allgather64(int64_t *in, int64_t *out, MPI_Comm c, MPI_Request *r) {
	return MPI_Iallgather(in, 1, MPI_INT64_T, out, 1, MPI_INT64_T, c, r);
}
int coll_alltoall64(int64_t *in, int64_t *out, MPI_Comm c, MPI_Request *r) {
	return MPI_Ialltoall(in, 1, MPI_INT64_T, out, 1, MPI_INT64_T, c, r);
}
int coll_gatherv(void *in, int n, void *out, int *counts, int *displs, int root, MPI_Comm c, MPI_Request *r) {
	return MPI_Igatherv(in, n, MPI_BYTE, out, counts, displs, MPI_BYTE, root, c, r);
}
int coll_allgatherv(void *in, int n, void *out, int *counts, int *displs, MPI_Comm c, MPI_Request *r) {
	return MPI_Iallgatherv(in, n, MPI_BYTE, out, counts, displs, MPI_BYTE, c, r);
}
int coll_alltoallv(void *in, int *nin, int *din, void *out, int *nout, int *dout, MPI_Comm c, MPI_Request *r) {
	return MPI_Ialltoallv(in, nin, din, MPI_BYTE, out, nout, dout, MPI_BYTE, c, r);
}

int msg_send(void *b, int n, int to, int tag, MPI_Comm c, MPI_Request *r) {
	return MPI_Isend(b, n, MPI_BYTE, to, tag, c, r);
}
int msg_probe(int from, int tag, MPI_Comm c, int *flag, int *len, MPI_Message *m) {
	MPI_Status s;
	TRY(MPI_Improbe(from, tag, c, flag, m, &s));
	return *flag ? MPI_Get_count(&s, MPI_BYTE, len) : MPI_SUCCESS;
}
int msg_recv(void *b, int n, MPI_Message *m, MPI_Request *r) { return MPI_Imrecv(b, n, MPI_BYTE, m, r); }

int win_open(MPI_Comm c, int64_t n, void **base, MPI_Win *w) {
	// The length is never 0, so that base is never null. It is a multiple of a cache line, because Open MPI
	// places the parts of a node one after the other and elements must be aligned.
	MPI_Aint len = (MPI_Aint)((n / 64 + 1) * 64);
	MPI_Comm node;
	int all, here;
	TRY(MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
	MPI_Comm_size(c, &all);
	MPI_Comm_size(node, &here);
	MPI_Comm_free(&node);
	// If all ranks share a node, use shared memory. It is faster, and it avoids osc/rdma of Open MPI 4.1, whose
	// MPI_Compare_and_swap crashes on a node.
	if (here == all)
		TRY(MPI_Win_allocate_shared(len, 1, MPI_INFO_NULL, c, base, w));
	else
		TRY(MPI_Win_allocate(len, 1, MPI_INFO_NULL, c, base, w));
	TRY(MPI_Win_set_errhandler(*w, MPI_ERRORS_RETURN));
	// The owner reads and writes its part in place and calls MPI_Win_sync. This requires the unified memory
	// model.
	int *model, flag = 0;
	TRY(MPI_Win_get_attr(*w, MPI_WIN_MODEL, &model, &flag));
	if (!flag || *model != MPI_WIN_UNIFIED) {
		MPI_Win_free(w);
		return MPI_ERR_RMA_SYNC;
	}
	return MPI_Win_lock_all(MPI_MODE_NOCHECK, *w);
}
int win_part(MPI_Win w, int rank, void **base) {
	int *flavor, flag = 0, disp;
	MPI_Aint size;
	TRY(MPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
	if (!flag || *flavor != MPI_WIN_FLAVOR_SHARED) return MPI_ERR_WIN;
	return MPI_Win_shared_query(w, rank, &size, &disp, base);
}
int mem_here(MPI_Comm c, int *whole) {
	MPI_Comm node;
	int all, here;
	*whole = 0;
	TRY(MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
	MPI_Comm_size(c, &all);
	MPI_Comm_size(node, &here);
	*whole = here == all;
	return MPI_Comm_free(&node);
}
int mem_open(MPI_Comm c, int64_t n, void **base, MPI_Win *w) {
	int rank, disp;
	MPI_Aint size;
	void *own;
	*base = NULL;
	*w = MPI_WIN_NULL;
	MPI_Comm_rank(c, &rank);
	TRY(MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)n : 0, 1, MPI_INFO_NULL, c, &own, w));
	TRY(MPI_Win_set_errhandler(*w, MPI_ERRORS_RETURN));
	TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, *w));
	return MPI_Win_shared_query(*w, 0, &size, &disp, base);
}
MPI_Win win_none(void) { return MPI_WIN_NULL; }
int win_is_null(MPI_Win w) { return w == MPI_WIN_NULL; }
int host_name(char *buf, int *n) { return MPI_Get_processor_name(buf, n); }
int win_free(MPI_Win *w) {
	TRY(MPI_Win_unlock_all(*w));
	return MPI_Win_free(w);
}
int win_sync(MPI_Win w) { return MPI_Win_sync(w); }
int win_put(void *b, int n, int rank, int64_t off, MPI_Win w) {
	TRY(MPI_Put(b, n, MPI_BYTE, rank, (MPI_Aint)off, n, MPI_BYTE, w));
	return MPI_Win_flush(rank, w);
}
int win_get(void *b, int n, int rank, int64_t off, MPI_Win w) {
	TRY(MPI_Get(b, n, MPI_BYTE, rank, (MPI_Aint)off, n, MPI_BYTE, w));
	return MPI_Win_flush(rank, w);
}
int win_put_element(int64_t *v, int rank, int64_t off, MPI_Win w) {
	TRY(MPI_Accumulate(v, 1, MPI_INT64_T, rank, (MPI_Aint)off, 1, MPI_INT64_T, MPI_REPLACE, w));
	return MPI_Win_flush(rank, w);
}

void error_text(int code, char *buf) {
	int n = 0;
	buf[0] = 0;
	MPI_Error_string(code, buf, &n);
}

void glue_yield(void) { sched_yield(); }

int node_bcast(void *b, int n, MPI_Comm c) { return MPI_Bcast(b, n, MPI_BYTE, 0, c); }
int node_gather(int *v, int n, int *all, MPI_Comm c) { return MPI_Allgather(v, n, MPI_INT, all, n, MPI_INT, c); }
int node_all(int ok, int *all, MPI_Comm c) { return MPI_Allreduce(&ok, all, 1, MPI_INT, MPI_MIN, c); }
