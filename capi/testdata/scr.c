// scr DIR NODES EXPECT LAST [KILL]: restarts from checkpoint EXPECT (0 means no restart), takes checkpoints up to LAST, and dies
// on all ranks during checkpoint KILL. All checkpoints have the same file names. The ranks are divided among NODES directories
// that represent nodes.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "blobio.h"
#include "scr.h"

static int rank, ranks, failed;

#define WANT(what, yes)                                                                                                \
	do {                                                                                                               \
		if (!(yes)) {                                                                                                  \
			fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, what);                                      \
			failed = 1;                                                                                                \
		}                                                                                                              \
	} while (0)
#define GOOD(call) WANT(#call " failed", (call) == SCR_SUCCESS)
#define BAD(call) WANT(#call " did not fail", (call) != SCR_SUCCESS)

enum { N = 10000 };

static int number(int who, int step, int i) { return who * 1000003 + step * 7919 + i; }

static void put(const char *name, int who, int step, int n) {
	FILE *f = *name ? fopen(name, "wb") : NULL; // name is empty if SCR_Route_file has failed
	WANT(name, f);
	for (int i = 0; f && i < n; i++) {
		int v = number(who, step, i);
		fwrite(&v, sizeof v, 1, f);
	}
	if (f)
		fclose(f);
}

static int holds(const char *name, int who, int step) {
	FILE *f = fopen(name, "rb");
	int n = 0, v;
	if (!f)
		return 0;
	while (fread(&v, sizeof v, 1, f) == 1 && v == number(who, step, n))
		n++;
	fclose(f);
	return n == N;
}

static void names(const char *prefix, char *mine, char *all) {
	snprintf(mine, SCR_MAX_FILENAME, "%s/state/rank%d.dat", prefix, rank);
	snprintf(all, SCR_MAX_FILENAME, "%s/state/all.dat", prefix);
}

static void misuse(const char *prefix) {
	char file[SCR_MAX_FILENAME] = "of the last checkpoint";
	int flag;
	BAD(SCR_Init());
	BAD(SCR_Complete_output(1));
	BAD(SCR_Complete_checkpoint(1));
	BAD(SCR_Complete_restart(0));
	BAD(SCR_Start_output(NULL, 8));
	BAD(SCR_Start_output(rank == 1 ? "" : "one", SCR_FLAG_CHECKPOINT));
	BAD(SCR_Need_checkpoint(NULL));
	BAD(SCR_Should_exit(NULL));
	BAD(SCR_Have_restart(NULL, NULL));
	WANT("one rank without a flag", (SCR_Need_checkpoint(rank == 1 ? NULL : &flag) == SCR_SUCCESS) == (rank != 1));
	WANT("one rank without a flag", (SCR_Should_exit(rank == 1 ? NULL : &flag) == SCR_SUCCESS) == (rank != 1));
	BAD(SCR_Start_output(NULL, SCR_FLAG_NONE));
	BAD(SCR_Start_output("two\nlines", SCR_FLAG_CHECKPOINT));
	BAD(SCR_Route_file("x", file)); // otherwise the file would be written unprotected to its final place
	WANT("file is not empty", !*file);
	GOOD(SCR_Start_output("./a name/", SCR_FLAG_CHECKPOINT));
	BAD(SCR_Complete_output(0));
	GOOD(SCR_Start_output("", SCR_FLAG_CHECKPOINT)); // SCR chooses the name
	BAD(SCR_Complete_output(0));
	GOOD(SCR_Route_file("x", file));
	BAD(SCR_Start_output(rank ? "one" : "two", SCR_FLAG_CHECKPOINT));
	BAD(SCR_Start_output("one", rank ? SCR_FLAG_CHECKPOINT : SCR_FLAG_OUTPUT));
	BAD(SCR_Drop(NULL));
	BAD(SCR_Current(rank ? "none" : NULL));
	BAD(SCR_Route_file(NULL, file));
	BAD(SCR_Drop("none"));
	BAD(SCR_Delete(rank ? "none" : NULL));
	BAD(SCR_Current("none"));
	WANT("the text of the last error", strstr(blobio_last_error(), "\"none\""));
	WANT("a parameter was set after SCR_Init", !SCR_Config("SCR_FLUSH=3"));
	const char *value = SCR_Config("SCR_PREFIX");
	WANT("SCR_PREFIX", value && !strcmp(value, prefix));
	free((void *)value);
	GOOD(SCR_Should_exit(&flag));
	WANT("the run is to end", !flag);
	WANT("version", !strncmp(SCR_Get_version(), "v3.", 3));
	GOOD(SCR_Start_output("bad", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT));
	BAD(SCR_Start_output("again", SCR_FLAG_CHECKPOINT));
	BAD(SCR_Start_checkpoint());
	BAD(SCR_Start_restart(NULL));
	BAD(SCR_Have_restart(&flag, NULL));
	BAD(SCR_Need_checkpoint(&flag));
	BAD(SCR_Should_exit(&flag));
	BAD(SCR_Current("bad"));
	BAD(SCR_Drop("bad"));
	BAD(SCR_Delete("bad"));
	char inside[SCR_MAX_FILENAME];
	snprintf(inside, sizeof inside, "%s/another%d", prefix, rank);
	GOOD(SCR_Route_file(inside, file)); // of bad
	BAD(SCR_Route_file("/elsewhere", file));
	BAD(SCR_Route_file("x", NULL));
	BAD(SCR_Complete_output(rank != 0));
}

// With SCR_ENABLE=0 all calls fail without printing a text, and files keep their names.
static void disabled(void) {
	char file[SCR_MAX_FILENAME];
	int flag = 7;
	BAD(SCR_Init());
	BAD(SCR_Have_restart(&flag, file));
	WANT("there is a restart", !flag);
	flag = 7;
	BAD(SCR_Need_checkpoint(&flag));
	WANT("a checkpoint is due", !flag);
	flag = 7;
	BAD(SCR_Should_exit(&flag));
	WANT("the run is to end", !flag);
	BAD(SCR_Start_output("one", SCR_FLAG_CHECKPOINT));
	BAD(SCR_Complete_output(1));
	GOOD(SCR_Route_file("x", file));
	WANT("another name", !strcmp(file, "x"));
	BAD(SCR_Finalize());
}

static int restart(const char *prefix) {
	char name[SCR_MAX_FILENAME], started[SCR_MAX_FILENAME], mine[SCR_MAX_FILENAME], all[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME] = "";
	int have = 0, step = 0;
	names(prefix, mine, all);
	GOOD(SCR_Have_restart(&have, name));
	if (!have) {
		BAD(SCR_Start_restart(name));
		return 0;
	}
	GOOD(SCR_Start_restart(started));
	WANT("the names differ", !strcmp(name, started));
	sscanf(name, "step%d", &step);
	GOOD(SCR_Route_file(mine, file));
	WANT(file, holds(file, rank, step));
	const char *flush = getenv("SCR_FLUSH");
	if (rank > 0 && flush && !strcmp(flush, "0")) {
		BAD(SCR_Route_file(all, file)); // the file of rank 0 is only on rank 0's node
	} else {
		GOOD(SCR_Route_file(all, file));
		WANT(file, holds(file, -1, step));
	}
	GOOD(SCR_Complete_restart(1));
	return step;
}

static void checkpoint(const char *prefix, int step, int die) {
	char name[64], mine[SCR_MAX_FILENAME], all[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME] = "";
	names(prefix, mine, all);
	snprintf(name, sizeof name, "step%d", step);
	GOOD(SCR_Start_output(name, SCR_FLAG_CHECKPOINT));
	GOOD(SCR_Route_file(mine, file));
	put(file, rank, step, die ? N / 2 : N);
	if (rank == 0) {
		GOOD(SCR_Route_file(all, file));
		put(file, -1, step, N);
	}
	if (die) {
		MPI_Barrier(MPI_COMM_WORLD);
		raise(SIGKILL);
	}
	GOOD(SCR_Complete_output(1));
}

int main(int argc, char **argv) {
	if (argc < 5)
		return 2;
	char *dir = argv[1], prefix[512], node[600];
	int nodes = atoi(argv[2]), expect = atoi(argv[3]), last = atoi(argv[4]), kill = argc > 5 ? atoi(argv[5]) : 0;
	BAD(SCR_Init()); // MPI_Init comes first
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(prefix, sizeof prefix, "%s/prefix", dir);
	snprintf(node, sizeof node, "%s/node%d", dir, rank % nodes);
	mkdir(prefix, 0700);
	mkdir(node, 0700);
	setenv("BLOBIO_NODE", strrchr(node, '/') + 1, 1);
	setenv("BLOBIO_NODE_DIR", node, 1);
	const char *enable = getenv("SCR_ENABLE");
	if (enable && !strcmp(enable, "0")) {
		disabled();
		goto end;
	}
	int flag = 7;
	BAD(SCR_Need_checkpoint(&flag));
	WANT("a flag after an error", !flag);
	WANT("a parameter has a value", !SCR_Configf("SCR_%s=%s", "PREFIX", prefix));
	WANT("a text without a form", !SCR_Config("=5"));
	WANT("a NULL text", !SCR_Config(NULL));
	WANT("a parameter that is not the program's", !SCR_Config("SCR_JOB_NAME=mine"));
	SCR_Config("SCR_CURRENT=a=b");
	const char *value = SCR_Config("SCR_CURRENT");
	WANT("a value with an =", value && !strcmp(value, "a=b"));
	free((void *)value);
	SCR_Config("SCR_CURRENT=");
	char file[SCR_MAX_FILENAME];
	BAD(SCR_Route_file("x", file)); // SCR_Init comes first
	MPI_Barrier(MPI_COMM_WORLD);
	GOOD(SCR_Init());
	if (!expect && !kill)
		misuse(prefix);
	int step = restart(prefix);
	WANT("restarted from another checkpoint", step == expect);
	while (step++ < last) {
		GOOD(SCR_Need_checkpoint(&flag));
		checkpoint(prefix, step, step == kill);
	}
	GOOD(SCR_Finalize());
	BAD(SCR_Finalize());
end:
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		puts(failed ? "bad" : "good");
	MPI_Finalize();
	return failed;
}
