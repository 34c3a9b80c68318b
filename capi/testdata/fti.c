// fti CONFIG LEVEL EXPECT LAST [KILL]: heat conduction in a rod; each rank has a part, and they exchange borders by
// FTI_COMM_WORLD. It restarts from step EXPECT (0 means no restart), takes a checkpoint at LEVEL in each step up to LAST, and dies
// after step KILL, during the next checkpoint. At the end it compares the sum of all steps with a run without checkpoints.
#include <math.h>
#include <signal.h>

#include "fti.h"

static int rank, ranks, failed;

#define WANT(what, yes)                                                                                                \
	do {                                                                                                               \
		if (!(yes)) {                                                                                                  \
			fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, what);                                      \
			failed = 1;                                                                                                \
		}                                                                                                              \
	} while (0)
#define GIVES(call, rc) WANT(#call " did not give " #rc, (call) == (rc))
#define GOOD(call) GIVES(call, FTI_SCES)
#define BAD(call) GIVES(call, FTI_NSCS)

enum { N = 5000, STEP = 1, ROD = 2, TRAIL = 3, SIGN = 4, NOTHING = 5 };

typedef struct {
	int step;
	double *rod;   // N + 2 values, at a different address in each step
	int *trail;    // step values, so it grows
	int trails;
	char sign[24];
} state;

static void begin(state *s) {
	memset(s, 0, sizeof *s);
	s->rod = calloc(N + 2, sizeof *s->rod);
	for (int i = 1; i <= N; i++)
		s->rod[i] = (rank * N + i) % 97;
	snprintf(s->sign, sizeof s->sign, "rank %d", rank);
}

static void advance(state *s, MPI_Comm c) {
	double *old = s->rod, *new = calloc(N + 2, sizeof *new);
	int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
	MPI_Sendrecv(&old[1], 1, MPI_DOUBLE, left, 0, &old[N + 1], 1, MPI_DOUBLE, right, 0, c, MPI_STATUS_IGNORE);
	MPI_Sendrecv(&old[N], 1, MPI_DOUBLE, right, 1, &old[0], 1, MPI_DOUBLE, left, 1, c, MPI_STATUS_IGNORE);
	for (int i = 1; i <= N; i++)
		new[i] = old[i] + 0.25 * (old[i - 1] - 2 * old[i] + old[i + 1]);
	free(old);
	s->rod = new;
	s->step++;
	s->trails = s->step;
	s->trail = realloc(s->trail, s->trails * sizeof *s->trail);
	s->trail[s->step - 1] = rank * 1000 + s->step;
}

static int same(const state *a, const state *b) {
	return a->step == b->step && a->trails == b->trails && !memcmp(a->rod + 1, b->rod + 1, N * sizeof *a->rod) && !strcmp(a->sign, b->sign) &&
		   (a->trails == 0 || !memcmp(a->trail, b->trail, a->trails * sizeof *a->trail));
}

static fti_id_t sign;

static void protect(state *s) {
	GOOD(FTI_Protect(STEP, &s->step, 1, FTI_INTG));
	GOOD(FTI_Protect(ROD, s->rod, N + 2, FTI_DBLE));
	GOOD(FTI_Protect(TRAIL, s->trail, s->trails, FTI_INTG));
	GOOD(FTI_Protect(SIGN, s->sign, 1, sign));
	GOOD(FTI_Protect(NOTHING, NULL, 0, FTI_CHAR));
}

static void misuse(const char *config) {
	double x = 0;
	fti_id_t t;
	GOOD(FTI_Init(config, MPI_COMM_WORLD)); // starts again
	GOOD(FTI_InitType(&sign, sizeof((state *)0)->sign));
	BAD(FTI_Protect(-1, &x, 1, FTI_DBLE));
	BAD(FTI_Protect(6, &x, -1, FTI_DBLE));
	BAD(FTI_Protect(6, &x, 1, 63));
	BAD(FTI_Protect(6, (void *)64, 1, FTI_DBLE));
	BAD(FTI_Protect(1 << 30, &x, 1, FTI_DBLE));
	BAD(FTI_InitType(&t, 0));
	BAD(FTI_InitType(NULL, 8));
	BAD(FTI_Checkpoint(1, 0));
	BAD(FTI_Checkpoint(1, FTI_L4_H5_SINGLE));
	BAD(FTI_Checkpoint(rank ? 1 : 2, FTI_L1));
	BAD(FTI_RecoverVar(STEP));
	BAD(FTI_GetStageStatus(0));
	BAD(FTI_InitGroup(NULL, "g", NULL));
	BAD(FTI_InitCompositeType("c", 8, NULL));
	GIVES(FTI_Recover(), FTI_NREC);
	GIVES(FTI_GetStoredSize(STEP), 0);
	GIVES(FTI_getIDFromString("none"), -1);
	WANT("a mode other than FTI-FF", FTI_GetConfig(NULL, MPI_COMM_NULL).configuration.ioMode == FTI_IO_FTIFF);
	WANT("a dataset of HDF5", !FTI_GetDatasetSpan(1, 1));
	GOOD(FTI_AddVarICP(STEP)); // no checkpoint was begun
	GOOD(FTI_FinalizeICP());
	GIVES(FTI_setIDFromString(""), -1);
	BAD(FTI_InitICP(1, 12, true)); // programs check only the last result
	BAD(FTI_AddVarICP(STEP));
	BAD(FTI_FinalizeICP());
	GOOD(FTI_FinalizeICP());
}

// Adds variables one by one, in a different order on each rank.
static int by_parts(int id, int level, int die) {
	static const int order[] = {ROD, NOTHING, SIGN, TRAIL, STEP};
	GOOD(FTI_InitICP(id, level, true));
	for (int i = 0; i < (die ? 3 : 5); i++)
		GOOD(FTI_AddVarICP(order[(i + rank) % 5]));
	if (die) {
		MPI_Barrier(MPI_COMM_WORLD);
		raise(SIGKILL);
	}
	return FTI_FinalizeICP() == FTI_SCES ? FTI_DONE : FTI_NSCS;
}

int main(int argc, char **argv) {
	if (argc < 5)
		return 2;
	const char *config = argv[1];
	int level = atoi(argv[2]), expect = atoi(argv[3]), last = atoi(argv[4]), kill = argc > 5 ? atoi(argv[5]) : 0;
	BAD(FTI_Init(config, MPI_COMM_WORLD)); // MPI_Init comes first
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	BAD(FTI_Checkpoint(1, 1));
	GOOD(FTI_Init(config, MPI_COMM_WORLD));
	GOOD(FTI_InitType(&sign, sizeof ((state *)0)->sign));
	if (!expect)
		misuse(config);

	state s, truth;
	begin(&s);
	begin(&truth);
	protect(&s);
	WANT("another status", FTI_Status() == (expect > 0));
	if (FTI_Status() && expect % 2) {
		s.trails = FTI_GetStoredSize(TRAIL) / sizeof *s.trail;
		s.trail = FTI_Realloc(TRAIL, s.trail);
		memset(s.sign, 0, sizeof s.sign);
		GOOD(FTI_Recover());
		WANT("still a restart", FTI_Status() == 0);
	} else if (FTI_Status()) {
		if (rank == 0) // not a collective
			GIVES(FTI_Recover(), FTI_NREC); // the trail has a different size
		s.trail = FTI_Realloc(TRAIL, s.trail);
		s.trails = FTI_GetStoredSize(TRAIL) / sizeof *s.trail;
		GOOD(FTI_RecoverVarInit());
		GOOD(FTI_RecoverVar(STEP));
		GOOD(FTI_RecoverVar(ROD));
		GOOD(FTI_RecoverVar(TRAIL));
		GOOD(FTI_RecoverVarFinalize());
		GOOD(FTI_Snapshot());
		WANT("still a restart", FTI_Status() == 0);
	}
	WANT("restarted from another step", s.step == expect);
	for (int i = 0; i < expect; i++)
		advance(&truth, MPI_COMM_WORLD);
	WANT("restarted with other values", same(&s, &truth));

	while (s.step < last) {
		advance(&s, FTI_COMM_WORLD);
		protect(&s);
		if (s.step > kill && kill > 0)
			by_parts(s.step, level, 1);
		else if (s.step % 3 == 2)
			GIVES(by_parts(s.step, level, 0), FTI_DONE);
		else
			GIVES(FTI_Checkpoint(s.step, level), FTI_DONE);
		GIVES(FTI_GetStoredSize(TRAIL), (int64_t)(s.trails * sizeof *s.trail));
	}
	while (truth.step < last)
		advance(&truth, MPI_COMM_WORLD);
	WANT("ended with other values", same(&s, &truth));
	GOOD(FTI_Finalize());
	BAD(FTI_Finalize());
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		puts(failed ? "bad" : "good");
	MPI_Finalize();
	return failed;
}
