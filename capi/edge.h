/* The interface between api.c and the Go files. Not installed. */
#ifndef BLOBIO_EDGE_H
#define BLOBIO_EDGE_H

#include <stdint.h>

/* The last error of a thread. */
typedef struct blobio_failure {
	int code;
	int64_t offset;
	char file[1024];
	char text[3072];
} blobio_failure;

/* Calls the callback of blobio_check. */
int blobio_edge_found(uintptr_t callback, uintptr_t user, int severity, int code, int64_t offset, const char *file,
                      const char *field, const char *message, const char *line);

#endif
