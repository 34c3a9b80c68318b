/* Expectations of the C tests. An expectation that fails is printed and counted, and the test continues. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blobio.h"

static int failures;

#define FAIL(...) (failures++, printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n'))

/* The call succeeds. */
#define OK(call)                                                                                                       \
	do {                                                                                                               \
		int ok_rc = (call);                                                                                            \
		if (ok_rc != BLOBIO_OK)                                                                                        \
			FAIL("%s: %d %s: %s", #call, ok_rc, blobio_strerror(ok_rc), blobio_last_error());                          \
	} while (0)

/* Expects that the call fails with this code, which is then also the code of the thread's last error. */
#define NOT(want, call)                                                                                                \
	do {                                                                                                               \
		int not_rc = (call);                                                                                           \
		if (not_rc != (want))                                                                                          \
			FAIL("%s: %d (%s), want %d: %s", #call, not_rc, blobio_strerror(not_rc), (want), blobio_last_error());     \
		else if (blobio_last_error_code() != (want) || !*blobio_last_error())                                          \
			FAIL("%s: last error is %d %s", #call, blobio_last_error_code(), blobio_last_error());                     \
	} while (0)

/* Expects that the last error's text contains this part. */
#define SAYS(part)                                                                                                     \
	do {                                                                                                               \
		if (!strstr(blobio_last_error(), part))                                                                        \
			FAIL("error %s, want something with %s", blobio_last_error(), part);                                       \
	} while (0)

#define EQ(a, b)                                                                                                       \
	do {                                                                                                               \
		long long eq_a = (long long)(a), eq_b = (long long)(b);                                                        \
		if (eq_a != eq_b)                                                                                              \
			FAIL("%s is %lld, want %lld", #a, eq_a, eq_b);                                                             \
	} while (0)

#define SAME(a, b)                                                                                                     \
	do {                                                                                                               \
		if (strcmp(a, b))                                                                                              \
			FAIL("%s is \"%s\", want \"%s\"", #a, a, b);                                                               \
	} while (0)

#endif
