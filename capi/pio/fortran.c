// Functions for the Fortran modules, in addition to the functions of pio.h. Variables count from 1, dimensions are listed fastest first,
// and text consists of strings of equal length, padded with blanks.

#include "pio.h"

#include "edge.h"

enum { MAX_RANK = 64 };

// The shape of a variable, fastest dimension first.
typedef struct shape {
	int ndims;
	PIO_Offset n[MAX_RANK]; // when writing, the record dimension has at least length 1
	PIO_Offset all;
} shape;

// An error in an argument. The error handler of the file's I/O system decides what happens.
static int refused(int nc, int code, const char *text) { return blobio_pio_wrong(PIOc_get_iosystem(nc), code, text); }
static int wrong(int nc, const char *text) { return refused(nc, PIO_EINVAL, text); }

static int shape_of(int nc, int v, int put, shape *s) {
	int dims[PIO_MAX_VAR_DIMS], unlimited, rc = PIOc_inq_varndims(nc, v, &s->ndims);
	if (!rc && s->ndims > MAX_RANK)
		return wrong(nc, "the variable has more than 64 dimensions");
	if (!rc)
		rc = PIOc_inq_vardimid(nc, v, dims);
	if (!rc)
		rc = PIOc_inq_unlimdim(nc, &unlimited);
	s->all = 1;
	for (int i = 0; !rc && i < s->ndims; i++) {
		PIO_Offset *n = &s->n[s->ndims - 1 - i];
		rc = PIOc_inq_dimlen(nc, dims[i], n);
		if (put && dims[i] == unlimited && *n == 0)
			*n = 1;
		s->all *= *n;
	}
	return rc;
}

// Converts Fortran's start and count to C's. Without a count, each count is 1.
static int part_of(int nc, const shape *s, int nstart, const int *start, int ncount, const int *count, PIO_Offset *cstart, PIO_Offset *ccount, PIO_Offset *all) {
	if (nstart < s->ndims || (ncount && ncount < s->ndims))
		return wrong(nc, "start or count is too short, want one value per dimension");
	*all = 1;
	for (int i = 0; i < s->ndims; i++) {
		int k = s->ndims - 1 - i;
		cstart[k] = start[i] - 1;
		ccount[k] = ncount ? count[i] : 1;
		if (cstart[k] < 0 || ccount[k] < 0)
			return wrong(nc, "start or count is too small, want start >= 1 and count >= 0");
		*all *= ccount[k];
	}
	return PIO_NOERR;
}

#define TYPED_PART(verb, constness)                                                                                    \
	static int verb##_typed(int nc, int v, int type, const PIO_Offset *start, const PIO_Offset *count, constness void *p) { \
		switch (type) {                                                                                                \
		case PIO_CHAR: return start ? PIOc_##verb##_vara_text(nc, v, start, count, p) : PIOc_##verb##_var_text(nc, v, p); \
		case PIO_BYTE: return start ? PIOc_##verb##_vara_schar(nc, v, start, count, p) : PIOc_##verb##_var_schar(nc, v, p); \
		case PIO_SHORT: return start ? PIOc_##verb##_vara_short(nc, v, start, count, p) : PIOc_##verb##_var_short(nc, v, p); \
		case PIO_INT: return start ? PIOc_##verb##_vara_int(nc, v, start, count, p) : PIOc_##verb##_var_int(nc, v, p); \
		case PIO_INT64: return start ? PIOc_##verb##_vara_longlong(nc, v, start, count, p) : PIOc_##verb##_var_longlong(nc, v, p); \
		case PIO_FLOAT: return start ? PIOc_##verb##_vara_float(nc, v, start, count, p) : PIOc_##verb##_var_float(nc, v, p); \
		case PIO_DOUBLE: return start ? PIOc_##verb##_vara_double(nc, v, start, count, p) : PIOc_##verb##_var_double(nc, v, p); \
		}                                                                                                              \
		return wrong(nc, "the type does not exist in Fortran");                                                                         \
	}
TYPED_PART(put, const)
TYPED_PART(get, )

static size_t size_of(int type) { return type == PIO_CHAR || type == PIO_BYTE ? 1 : type == PIO_SHORT ? 2 : type == PIO_INT || type == PIO_FLOAT ? 4 : 8; }

// Writes only the first have elements of a larger variable: as many whole slices of its slowest dimension as possible, then the
// rest as slices of the next dimension, and so on.
static int put_less(int nc, int v, int type, const shape *s, PIO_Offset have, const void *p) {
	PIO_Offset start[MAX_RANK] = {0}, count[MAX_RANK], slab = s->all;
	const char *at = p;
	int rc = PIO_NOERR;
	for (int i = 0; !rc && have && i < s->ndims; i++) {
		slab /= s->n[s->ndims - 1 - i];
		PIO_Offset some = have / slab;
		for (int k = 0; k < s->ndims; k++)
			count[k] = k < i ? 1 : k > i ? s->n[s->ndims - 1 - k] : some;
		if (some)
			rc = put_typed(nc, v, type, start, count, at);
		at += (size_t)(some * slab) * size_of(type);
		have -= some * slab;
		start[i] = some;
	}
	return rc;
}

PIO_API int blobio_pio_put(int nc, int varid, int type, int nstart, const int *start, int ncount, const int *count, PIO_Offset have, const void *p) {
	shape s;
	PIO_Offset cstart[MAX_RANK], ccount[MAX_RANK], all;
	int v = varid - 1, rc = shape_of(nc, v, 1, &s);
	if (!rc && nstart)
		rc = part_of(nc, &s, nstart, start, ncount, count, cstart, ccount, &all);
	static const double nothing;
	if (!p)
		p = &nothing; // an empty array
	int whole = !nstart && s.ndims, base = 0;
	if (!rc && nstart)
		rc = blobio_pio_is_base(nc, &base);
	if (!rc && base && have < all) // the other ranks need no array
		rc = wrong(nc, "put_var: there are fewer values than count requires");
	// The other ranks get this rank's error here or in their put. Without an error, the length of the base's array selects the puts of a whole variable.
	if (rc || whole)
		rc = blobio_pio_agree(nc, rc, (word)&have);
	if (rc)
		return rc;
	return whole && have < s.all ? put_less(nc, v, type, &s, have, p) : put_typed(nc, v, type, nstart ? cstart : NULL, nstart ? ccount : NULL, p);
}

PIO_API int blobio_pio_get(int nc, int varid, int type, int nstart, const int *start, int ncount, const int *count, PIO_Offset have, void *p) {
	shape s;
	PIO_Offset cstart[MAX_RANK], ccount[MAX_RANK], all;
	int v = varid - 1, rc = shape_of(nc, v, 0, &s);
	all = s.all;
	if (!rc && nstart)
		rc = part_of(nc, &s, nstart, start, ncount, count, cstart, ccount, &all);
	if (!rc && have < all)
		rc = wrong(nc, "get_var: the array is too small for the values");
	rc = blobio_pio_agree(nc, rc, (word)&have);
	if (rc)
		return rc;
	return get_typed(nc, v, type, nstart ? cstart : NULL, ccount, p);
}

// Finds the part of a text variable that a call covers: the number of strings, and the number of characters in each.
static int text_part(int nc, int v, int put, int nstart, const int *start, int ncount, const int *count, PIO_Offset len, PIO_Offset *cstart, PIO_Offset *ccount,
                     PIO_Offset *chars, PIO_Offset *strings) {
	shape s;
	int rc = shape_of(nc, v, put, &s);
	if (rc)
		return rc;
	*chars = s.ndims ? s.n[0] : 1;
	PIO_Offset all = s.all;
	if (nstart) {
		rc = part_of(nc, &s, nstart, start, ncount, count, cstart, ccount, &all);
		if (rc)
			return rc;
		if (!ncount && s.ndims) { // without a count, the part extends from start to the end
			PIO_Offset rest = *chars - cstart[s.ndims - 1];
			all = ccount[s.ndims - 1] = rest < len ? rest > 0 ? rest : 0 : len;
		}
		*chars = s.ndims ? ccount[s.ndims - 1] : 1;
	}
	*strings = *chars ? all / *chars : 0;
	return PIO_NOERR;
}

static PIO_Offset less(PIO_Offset a, PIO_Offset b) { return a < b ? a : b; }

PIO_API int blobio_pio_put_text(int nc, int varid, int nstart, const int *start, int ncount, const int *count, int flags, PIO_Offset len, PIO_Offset have, const char *p) {
	int place = nstart && !ncount, trim = place != !!(flags & PIO_OF_NCAR); // SCORPIO trims at a place only, NCAR everywhere else
	PIO_Offset cstart[MAX_RANK], ccount[MAX_RANK], chars, strings, most = len;
	int rc = blobio_pio_agree(nc, PIO_NOERR, (word)&most); // use the base rank's length, so that all ranks get the same part
	if (rc)
		return rc;
	char *text = NULL;
	rc = text_part(nc, varid - 1, 1, nstart, start, ncount, count, most, cstart, ccount, &chars, &strings);
	if (!rc && !(text = calloc((size_t)(chars * strings) + 1, 1)))
		rc = refused(nc, PIO_ENOMEM, "no memory for text");
	if ((rc = blobio_pio_agree(nc, rc, (word)&most))) {
		free(text);
		return rc;
	}
	if (!place && len < chars && len * have >= chars * strings) { // pack shorter strings without gaps, one character per element
		have = strings;
		len = chars;
	}
	for (PIO_Offset i = 0; i < less(strings, have); i++) {
		PIO_Offset n = len;
		while (trim && n > 0 && p[i * len + n - 1] == ' ')
			n--;
		memcpy(text + i * chars, p + i * len, (size_t)less(n, chars));
	}
	rc = put_typed(nc, varid - 1, PIO_CHAR, nstart ? cstart : NULL, ccount, text);
	free(text);
	return rc;
}

// Copies a C string to a Fortran string.
static void blank(char *to, PIO_Offset len, const char *from, PIO_Offset n) {
	PIO_Offset k = 0;
	for (; k < less(n, len) && from[k]; k++)
		to[k] = from[k];
	memset(to + k, ' ', (size_t)(len - k));
}

PIO_API int blobio_pio_get_text(int nc, int varid, int nstart, const int *start, int ncount, const int *count, PIO_Offset len, PIO_Offset have, char *p) {
	PIO_Offset cstart[MAX_RANK], ccount[MAX_RANK], chars, strings, most = len;
	char *text = NULL;
	int rc = text_part(nc, varid - 1, 0, nstart, start, ncount, count, len, cstart, ccount, &chars, &strings);
	if (!rc && !(text = calloc((size_t)(chars * strings) + 1, 1)))
		rc = refused(nc, PIO_ENOMEM, "no memory for text");
	if (!(rc = blobio_pio_agree(nc, rc, (word)&most)))
		rc = get_typed(nc, varid - 1, PIO_CHAR, nstart ? cstart : NULL, ccount, text);
	for (PIO_Offset i = 0; !rc && i < have; i++)
		blank(p + i * len, len, text + i * chars, i < strings ? chars : 0);
	free(text);
	return rc;
}

PIO_API int blobio_pio_put_att(int nc, int varid, const char *name, int type, PIO_Offset n, const void *p) {
	return PIOc_put_att(nc, varid - 1, name, type, n, p);
}

// Reads the numbers of an attribute, but at most have numbers.
PIO_API int blobio_pio_get_att(int nc, int varid, const char *name, int type, PIO_Offset have, void *p) {
	PIO_Offset n;
	int v = varid - 1, rc = PIOc_inq_attlen(nc, v, name, &n);
	if (rc)
		return rc;
	if (n > have)
		return refused(nc, PIO_EINSUFFBUF, "get_att: the attribute has more values than the array");
	switch (type) {
	case PIO_BYTE: return PIOc_get_att_schar(nc, v, name, p);
	case PIO_SHORT: return PIOc_get_att_short(nc, v, name, p);
	case PIO_INT: return PIOc_get_att_int(nc, v, name, p);
	case PIO_INT64: return PIOc_get_att_longlong(nc, v, name, p);
	case PIO_FLOAT: return PIOc_get_att_float(nc, v, name, p);
	case PIO_DOUBLE: return PIOc_get_att_double(nc, v, name, p);
	}
	return wrong(nc, "the type does not exist in Fortran");
}

// Reads the text of an attribute into consecutive strings.
PIO_API int blobio_pio_get_att_text(int nc, int varid, const char *name, PIO_Offset len, PIO_Offset have, char *p) {
	PIO_Offset n;
	int v = varid - 1, rc = PIOc_inq_attlen(nc, v, name, &n);
	if (rc)
		return rc;
	char *text = calloc((size_t)n + 1, 1);
	if (!text)
		return refused(nc, PIO_ENOMEM, "no memory for text");
	rc = PIOc_get_att_text(nc, v, name, text);
	for (PIO_Offset i = 0; !rc && i < have; i++)
		blank(p + i * len, len, text + less(i * len, n), less(len, n - less(i * len, n)));
	free(text);
	return rc;
}

// PIOc_inq_var for Fortran. dims has room for maxdims dimensions.
PIO_API int blobio_pio_inq_var(int nc, int varid, char *name, int len, int *type, int *ndims, int *dims, int maxdims, int *natts) {
	int ids[PIO_MAX_VAR_DIMS], rc;
	char text[PIO_MAX_NAME + 1];
	rc = PIOc_inq_var(nc, varid - 1, text, sizeof text, type, ndims, ids, natts);
	if (rc)
		return rc;
	blank(name, len, text, (PIO_Offset)strlen(text));
	if (maxdims && maxdims < *ndims)
		return wrong(nc, "inq_vardimid: the array is too small for the dimension ids");
	for (int i = 0; maxdims && i < *ndims; i++)
		dims[i] = ids[*ndims - 1 - i] + 1;
	return rc;
}

PIO_API int blobio_pio_def_var(int nc, const char *name, int type, int ndims, const int *dims, int *varid) {
	int ids[PIO_MAX_VAR_DIMS], v = -1;
	if (ndims > PIO_MAX_VAR_DIMS)
		return wrong(nc, "def_var: too many dimensions");
	for (int i = 0; i < ndims; i++)
		ids[i] = dims[ndims - 1 - i] - 1;
	int rc = PIOc_def_var(nc, name, type, ndims, ids, &v);
	*varid = v + 1;
	return rc;
}

// Returns the name of dimension id, or of attribute id of a variable.
PIO_API int blobio_pio_name(int nc, int dimension, int varid, int id, char *name, int len) {
	char text[PIO_MAX_NAME + 1];
	int rc = dimension ? PIOc_inq_dimname(nc, id - 1, text) : PIOc_inq_attname(nc, varid - 1, id - 1, text);
	if (!rc)
		blank(name, len, text, (PIO_Offset)strlen(text));
	return rc;
}

// Returns the text of a code, or another C string: what is 1 for the version, 2 for its hash.
PIO_API void blobio_pio_text(int what, int code, char *text, int len) {
	char s[PIO_MAX_NAME + 1] = "";
	if (what == 0)
		PIOc_strerror(code, s, sizeof s);
	else if (what == 1)
		PIOc_get_version_string(s, sizeof s);
	else
		PIOc_get_version_hash(s, sizeof s);
	blank(text, len, s, (PIO_Offset)strlen(s));
}

PIO_API int blobio_pio_initdecomp(int sys, int type, int ndims, const int *dims, PIO_Offset n, const PIO_Offset *map, int readonly, int *id) {
	int gdims[MAX_RANK];
	if (ndims > MAX_RANK || n > 2147483647)
		return blobio_pio_wrong(sys, PIO_EINVAL, "initdecomp: too many dimensions or elements, want at most 64 dimensions and 2147483647 elements per rank");
	for (int i = 0; i < ndims; i++)
		gdims[i] = dims[ndims - 1 - i];
	return (readonly ? PIOc_InitDecomp_ReadOnly : PIOc_InitDecomp)(sys, type, ndims, gdims, (int)n, map, id, NULL, NULL, NULL);
}

PIO_API int blobio_pio_initdecomp_bc(int sys, int type, int ndims, const int *dims, const PIO_Offset *start, const PIO_Offset *count, int *id) {
	int gdims[MAX_RANK];
	long cstart[MAX_RANK], ccount[MAX_RANK];
	if (ndims > MAX_RANK)
		return blobio_pio_wrong(sys, PIO_EINVAL, "initdecomp: too many dimensions, want at most 64");
	for (int i = 0; i < ndims; i++) {
		int k = ndims - 1 - i;
		gdims[k] = dims[i];
		cstart[k] = start[i] - 1;
		ccount[k] = count[i];
	}
	return PIOc_InitDecomp_bc(sys, type, ndims, gdims, cstart, ccount, id);
}

// Fortran passes a communicator as an integer, also from MPI_Comm of mpi_f08.
PIO_API int blobio_pio_comm(const int *comm) { return *comm; }

// If def is nonzero, sets the chunk sizes of a variable, otherwise returns them. sizes has room elements.
PIO_API int blobio_pio_chunking(int nc, int varid, int def, int *storage, PIO_Offset *sizes, int room) {
	shape s;
	PIO_Offset csizes[MAX_RANK];
	int chunked = *storage == 0, rc = def ? PIO_NOERR : PIOc_inq_var_chunking(nc, varid - 1, storage, NULL);
	if (!rc)
		rc = shape_of(nc, varid - 1, 0, &s);
	if (!def)
		chunked = !rc && *storage == 0;
	if (!rc && chunked && room < s.ndims)
		return wrong(nc, "chunking: the array has fewer chunk sizes than the variable has dimensions");
	for (int i = 0; !rc && def && chunked && i < s.ndims; i++)
		csizes[s.ndims - 1 - i] = sizes[i];
	if (rc || (!def && !chunked))
		return rc;
	rc = def ? PIOc_def_var_chunking(nc, varid - 1, *storage, chunked ? csizes : NULL) : PIOc_inq_var_chunking(nc, varid - 1, NULL, csizes);
	for (int i = 0; !rc && !def && i < s.ndims; i++)
		sizes[i] = csizes[s.ndims - 1 - i];
	return rc;
}

enum { MAX_FILTERS = 64 };

PIO_API int blobio_pio_filter_ids(int nc, int varid, int *n, int *ids, int room) {
	unsigned list[MAX_FILTERS];
	size_t have = 0;
	int rc = PIOc_inq_var_filter_ids(nc, varid - 1, &have, NULL);
	if (!rc && have <= MAX_FILTERS)
		rc = PIOc_inq_var_filter_ids(nc, varid - 1, &have, list);
	*n = (int)have;
	if (!rc && have > (size_t)(room < MAX_FILTERS ? room : MAX_FILTERS))
		return refused(nc, PIO_EINSUFFBUF, "inq_var_filter_ids: the variable has more filters than the array");
	for (size_t i = 0; !rc && i < have; i++)
		ids[i] = (int)list[i];
	return rc;
}

PIO_API int blobio_pio_filter_info(int nc, int varid, int id, int *params, int room) {
	size_t have = 0;
	int rc = PIOc_inq_var_filter_info(nc, varid - 1, (unsigned)id, &have, NULL);
	if (!rc && have > (size_t)room)
		return refused(nc, PIO_EINSUFFBUF, "inq_var_filter_info: the filter has more parameters than the array");
	return rc ? rc : PIOc_inq_var_filter_info(nc, varid - 1, (unsigned)id, &have, (unsigned *)params);
}

// Ends the job after an error. The message has the text of mpi_code, unless mpi_code is 0.
PIO_API void blobio_pio_die(const char *text, int mpi_code) {
	char words[MPI_MAX_ERROR_STRING + 1] = "";
	int n = 0;
	if (mpi_code)
		MPI_Error_string(mpi_code, words, &n);
	fprintf(stderr, "blobio: %s %s\n", text, words);
	MPI_Abort(MPI_COMM_WORLD, mpi_code ? mpi_code : 1);
}
