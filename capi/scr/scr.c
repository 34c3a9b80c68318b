// The functions of scr.h, and their Fortran names. libblobio_mpi does all the work, see edge.h.

#define SCR_API __attribute__((visibility("default")))
#include "scr.h"

#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blobio.h"
#include "edge.h"

#define P(p) ((word)(p))

extern char **environ;

static volatile int forked;

static void in_child(void) { forked = 1; }

__attribute__((constructor)) static void start(void) { pthread_atfork(NULL, NULL, in_child); }

// Returns true on the rank that prints errors that all ranks have.
static int prints(void) {
	int ready = 0, over = 0, rank = 0;
	MPI_Initialized(&ready);
	MPI_Finalized(&over);
	if (ready && !over)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return rank == 0;
}

// Returns the result to the caller. SCR has no function for the text of an error, so the text goes to standard error and to
// blobio_last_error.
static int result(int rc, int shared, const char *call, const blobio_scr_failure *e) {
	if (!rc)
		return SCR_SUCCESS;
	blobio_fail(rc, e->text);
	if (e->text[0] && (!shared || prints()))
		fprintf(stderr, "blobio: %s: %s\n", call, e->text);
	return SCR_FAILURE;
}

static int refused(blobio_scr_failure *e) {
	snprintf(e->text, sizeof e->text, "the library does not work in a child of fork, only in the parent or after exec");
	return BLOBIO_EFORKED;
}

// RUN calls a Go function and yields its result. shared means that all ranks get the same result.
#define RUN(shared, call, name, ...)                                                                                   \
	({                                                                                                                 \
		blobio_scr_failure e;                                                                                          \
		e.text[0] = 0;                                                                                                 \
		result(forked ? refused(&e) : blobioGoScr##name(__VA_ARGS__ & e), shared, call, &e);                             \
	})

int SCR_Init(void) { return RUN(1, "SCR_Init", Init, P(MPI_COMM_WORLD), P(environ), ); }
int SCR_Finalize(void) { return RUN(1, "SCR_Finalize", Finalize, ); }

enum { VALUE_SIZE = 1 << 16 };

// Returns the value of the parameter that config names, or NULL if it is unset or after an error.
static char *config_value(const char *config, int *rc) {
	char *value = malloc(VALUE_SIZE);
	int32_t set = 0;
	*rc = value ? RUN(1, "SCR_Config", Config, P(config), P(environ), P(value), VALUE_SIZE, P(&set), ) : SCR_FAILURE;
	if (*rc == SCR_SUCCESS && set) {
		char *fits = realloc(value, strlen(value) + 1);
		return fits ? fits : value;
	}
	free(value);
	return NULL;
}

const char *SCR_Config(const char *config) {
	int rc;
	return config_value(config, &rc);
}

const char *SCR_Configf(const char *format, ...) {
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	char *text = n < 0 ? NULL : malloc((size_t)n + 1);
	const char *value = NULL;
	if (text) {
		vsnprintf(text, (size_t)n + 1, format, again);
		value = SCR_Config(text);
	}
	free(text);
	va_end(again);
	va_end(args);
	return value;
}

int SCR_Route_file(const char *name, char *file) { return RUN(0, "SCR_Route_file", Route, P(name), P(file), SCR_MAX_FILENAME, ); }

// If flag is NULL, only this rank has an error. Otherwise the flag is set to 0 first, because programs read it without
// checking the result.
static int *unset(int *flag) {
	if (flag)
		*flag = 0;
	return flag;
}

int SCR_Have_restart(int *flag, char *name) { return RUN(flag != NULL, "SCR_Have_restart", HaveRestart, P(unset(flag)), P(name), SCR_MAX_FILENAME, ); }
int SCR_Start_restart(char *name) { return RUN(1, "SCR_Start_restart", StartRestart, P(name), SCR_MAX_FILENAME, ); }
int SCR_Complete_restart(int valid) { return RUN(1, "SCR_Complete_restart", CompleteRestart, valid, ); }

int SCR_Need_checkpoint(int *flag) { return RUN(flag != NULL, "SCR_Need_checkpoint", NeedCheckpoint, P(unset(flag)), ); }
int SCR_Start_checkpoint(void) { return RUN(1, "SCR_Start_checkpoint", Start, 0, SCR_FLAG_CHECKPOINT, ); }
int SCR_Complete_checkpoint(int valid) { return RUN(1, "SCR_Complete_checkpoint", Complete, valid, ); }

int SCR_Start_output(const char *name, int flags) { return RUN(1, "SCR_Start_output", Start, P(name), flags, ); }
int SCR_Complete_output(int valid) { return RUN(1, "SCR_Complete_output", Complete, valid, ); }

int SCR_Current(const char *name) { return RUN(1, "SCR_Current", Current, P(name), ); }
int SCR_Drop(const char *name) { return RUN(1, "SCR_Drop", Drop, P(name), ); }
int SCR_Delete(const char *name) { return RUN(1, "SCR_Delete", Delete, P(name), ); }

int SCR_Should_exit(int *flag) { return RUN(flag != NULL, "SCR_Should_exit", ShouldExit, P(unset(flag)), ); }
char *SCR_Get_version(void) { return (char *)SCR_VERSION; }

// --- Fortran: names are in lower case and end with an underscore; the lengths of texts follow all other arguments

typedef size_t length;

// Copies a Fortran string to a C string, without trailing blanks. The caller must free it. Without memory it returns NULL.
static char *from_fortran(const char *text, length n) {
	while (n > 0 && text[n - 1] == ' ')
		n--;
	char *s = malloc(n + 1);
	if (s) {
		memcpy(s, text, n);
		s[n] = 0;
	}
	return s;
}

// Copies a C string to a Fortran variable.
static int to_fortran(const char *call, const char *s, char *text, length size) {
	size_t n = strlen(s);
	memset(text, ' ', size);
	memcpy(text, s, n < size ? n : size);
	if (n <= size)
		return SCR_SUCCESS;
	blobio_scr_failure e;
	snprintf(e.text, sizeof e.text, "\"%s\" has %zu characters, but the variable only %zu", s, n, (size_t)size);
	return result(BLOBIO_EINVAL, 0, call, &e);
}

#define FORTRAN(name, ...) SCR_API void name##_(__VA_ARGS__)

FORTRAN(scr_init, int *rc) { *rc = SCR_Init(); }
FORTRAN(scr_finalize, int *rc) { *rc = SCR_Finalize(); }
FORTRAN(scr_complete_restart, const int *valid, int *rc) { *rc = SCR_Complete_restart(*valid); }
FORTRAN(scr_need_checkpoint, int *flag, int *rc) { *rc = SCR_Need_checkpoint(flag); }
FORTRAN(scr_start_checkpoint, int *rc) { *rc = SCR_Start_checkpoint(); }
FORTRAN(scr_complete_checkpoint, const int *valid, int *rc) { *rc = SCR_Complete_checkpoint(*valid); }
FORTRAN(scr_complete_output, const int *valid, int *rc) { *rc = SCR_Complete_output(*valid); }
FORTRAN(scr_should_exit, int *flag, int *rc) { *rc = SCR_Should_exit(flag); }

FORTRAN(scr_config, const char *config, char *value, int *rc, length n, length size) {
	char *text = from_fortran(config, n);
	*rc = SCR_FAILURE;
	char *got = text ? config_value(text, rc) : NULL;
	int fits = to_fortran("SCR_CONFIG", got ? got : "", value, size);
	if (*rc == SCR_SUCCESS)
		*rc = fits;
	free(got);
	free(text);
}

FORTRAN(scr_route_file, const char *name, char *file, int *rc, length n, length size) {
	char *text = from_fortran(name, n), path[SCR_MAX_FILENAME] = "";
	*rc = text ? SCR_Route_file(text, path) : SCR_FAILURE;
	int fits = to_fortran("SCR_ROUTE_FILE", path, file, size);
	if (*rc == SCR_SUCCESS)
		*rc = fits;
	free(text);
}

FORTRAN(scr_have_restart, int *flag, char *name, int *rc, length size) {
	char text[SCR_MAX_FILENAME] = "";
	*rc = SCR_Have_restart(flag, text);
	if (*rc == SCR_SUCCESS)
		*rc = to_fortran("SCR_HAVE_RESTART", *flag ? text : "", name, size);
}

FORTRAN(scr_start_restart, char *name, int *rc, length size) {
	char text[SCR_MAX_FILENAME] = "";
	*rc = SCR_Start_restart(text);
	if (*rc == SCR_SUCCESS)
		*rc = to_fortran("SCR_START_RESTART", text, name, size);
}

// Calls a C function with a Fortran string.
static int named(int (*call)(const char *), const char *name, length n) {
	char *text = from_fortran(name, n);
	int rc = text ? call(text) : SCR_FAILURE;
	free(text);
	return rc;
}

FORTRAN(scr_start_output, const char *name, const int *flags, int *rc, length n) {
	char *text = from_fortran(name, n);
	*rc = text ? SCR_Start_output(text, *flags) : SCR_FAILURE;
	free(text);
}

FORTRAN(scr_current, const char *name, int *rc, length n) { *rc = named(SCR_Current, name, n); }
FORTRAN(scr_drop, const char *name, int *rc, length n) { *rc = named(SCR_Drop, name, n); }
FORTRAN(scr_delete, const char *name, int *rc, length n) { *rc = named(SCR_Delete, name, n); }
