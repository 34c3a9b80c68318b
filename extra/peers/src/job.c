#include "job.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const map_var_name[M_VARS] = {"nreqs", "blob_start", "blob_count", "offsets", "lengths"};
const char *const map_var_description[M_VARS] = {
	"Number of noncontiguous requests in individual blobs",
	"Starting array indices of individual blobs stored in a variable",
	"Number of contiguous array elements in individual blobs stored in a variable",
	"Starting indices of flattened canonical noncontiguous requests of individual blobs",
	"Number of elements of flattened canonical noncontiguous requests of individual blobs",
};

int map_var_type(int m) { return m == M_START || m == M_COUNT ? T_INT64 : T_INT; }

void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

void *get(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);
	if (!p) die("out of memory: %zu bytes", bytes);
	return p;
}

i64 size_of(int type)
{
	switch (type) {
	case T_BYTE: case T_CHAR: return 1;
	case T_SHORT: return 2;
	case T_INT: case T_FLOAT: return 4;
	case T_DOUBLE: case T_INT64: return 8;
	}
	die("type %d is not known", type);
	return 0;
}

MPI_Datatype mpi_of(int type)
{
	switch (type) {
	case T_BYTE: return MPI_SIGNED_CHAR;
	case T_CHAR: return MPI_CHAR;
	case T_SHORT: return MPI_SHORT;
	case T_INT: return MPI_INT;
	case T_FLOAT: return MPI_FLOAT;
	case T_DOUBLE: return MPI_DOUBLE;
	case T_INT64: return MPI_LONG_LONG_INT;
	}
	die("type %d is not known", type);
	return MPI_DATATYPE_NULL;
}

/* --- the job file --- */

static const char *at, *end;

static void take(void *to, i64 n)
{
	if (n < 0 || n > end - at) die("the job file is too short");
	memcpy(to, at, (size_t)n);
	at += n;
}

static i64 take_int(void)
{
	i64 v;
	take(&v, 8);
	return v;
}

static char *take_text(void)
{
	i64 n = take_int();
	if (n < 0 || n > end - at) die("the job file is too short");
	char *s = get((size_t)n + 1);
	take(s, n);
	s[n] = 0;
	return s;
}

static int take_count(void)
{
	i64 n = take_int();
	if (n < 0 || n > 1 << 24) die("the job file is damaged: %lld of something", n);
	return (int)n;
}

static int *take_ids(int n)
{
	int *ids = get(sizeof(int) * (size_t)n);
	for (int i = 0; i < n; i++) ids[i] = (int)take_int();
	return ids;
}

static Att *take_atts(int n)
{
	Att *a = get(sizeof(Att) * (size_t)n);
	for (int i = 0; i < n; i++) {
		a[i].name = take_text();
		a[i].type = (int)take_int();
		a[i].n = take_int();
		i64 bytes = a[i].n * size_of(a[i].type);
		if (bytes < 0 || bytes > end - at) die("the job file is too short");
		a[i].value = get((size_t)bytes);
		take(a[i].value, bytes);
	}
	return a;
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	if (!f || fstat(fileno(f), &st)) die("%s cannot be opened", path);
	char *b = get((size_t)st.st_size);
	if (fread(b, 1, (size_t)st.st_size, f) != (size_t)st.st_size) die("%s cannot be read", path);
	fclose(f);
	at = b;
	end = b + st.st_size;
	return b;
}

static void read_job(Job *job, const char *path)
{
	char *file = read_all(path), magic[8];
	take(magic, 8);
	if (memcmp(magic, "BLOBJOB2", 8)) die("%s is not a job file", path);
	i64 ranks = take_int();
	if (ranks != job->ranks) die("%s is for %lld ranks, there are %d", path, ranks, job->ranks);
	job->records = take_int();
	job->distinct = take_int();
	job->flush = take_int();
	job->sync = (int)take_int();
	job->ndims = take_count();
	job->dims = get(sizeof(Dim) * (size_t)job->ndims);
	for (int i = 0; i < job->ndims; i++) {
		job->dims[i].name = take_text();
		job->dims[i].len = take_int();
	}
	job->natts = take_count();
	job->atts = take_atts(job->natts);
	job->nmaps = take_count();
	job->maps = get(sizeof(Map) * (size_t)job->nmaps);
	for (int k = 0; k < job->nmaps; k++) {
		Map *m = &job->maps[k];
		m->ndims = take_count();
		m->dims = take_ids(m->ndims);
	}
	job->nvars = take_count();
	job->vars = get(sizeof(Var) * (size_t)job->nvars);
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		v->name = take_text();
		v->type = (int)take_int();
		v->mem = (int)take_int();
		v->map = (int)take_int();
		v->record = (int)take_int();
		v->ndims = take_count();
		v->dims = take_ids(v->ndims);
		v->natts = take_count();
		v->atts = take_atts(v->natts);
		v->records = v->record ? job->records : 1;
		v->whole = 1;
		for (int d = v->record ? 1 : 0; d < v->ndims; d++) v->whole *= job->dims[v->dims[d]].len;
	}
	/* requests, map by map, rank by rank: number, then offset and length of each */
	for (int k = 0; k < job->nmaps; k++) {
		Map *m = &job->maps[k];
		m->start = m->nelems = m->max_nreqs = 0;
		for (int r = 0; r < job->ranks; r++) {
			i64 n = take_int();
			if (n < 0 || n > (end - at) / 16) die("the job file is too short");
			if (n > m->max_nreqs) m->max_nreqs = n;
			if (r == job->rank) {
				m->nreqs = n;
				m->offsets = get(sizeof(i64) * (size_t)n);
				m->lengths = get(sizeof(i64) * (size_t)n);
				m->count = 0;
				m->start = m->nelems;
			}
			for (i64 i = 0; i < n; i++) {
				i64 pair[2];
				take(pair, 16);
				m->nelems += pair[1];
				if (r == job->rank) {
					m->offsets[i] = pair[0];
					m->lengths[i] = pair[1];
					m->count += pair[1];
				}
			}
		}
	}
	free(file);
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		v->count = v->map ? job->maps[v->map - 1].count : job->rank == 0 ? v->whole : 0;
	}
}

/* --- data: a hash of variable, record and place, as e3smcases/unique.go makes it --- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 29) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 32;
}

static uint64_t stream_of(const char *name, i64 rec)
{
	uint64_t h = 14695981039346656037ULL;
	for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211ULL;
	return mix(h + (uint64_t)rec * 0x9e3779b97f4a7c15ULL);
}

/* How far a hash is shifted so that the type in the file holds it exactly. */
static int shift_of(int type)
{
	switch (type) {
	case T_BYTE: return 57;
	case T_SHORT: return 49;
	case T_INT: return 33;
	case T_FLOAT: return 40;
	case T_DOUBLE: return 11;
	case T_INT64: return 1;
	}
	return 0;
}

static char *fill_run(char *to, const Var *v, uint64_t s, i64 off, i64 n)
{
	int shift = shift_of(v->type);
	for (i64 i = off; i < off + n; i++) {
		uint64_t h = mix(s + (uint64_t)i * 0xd6e8feb86659fd93ULL);
		switch (v->mem) {
		case T_CHAR: *to = (char)(1 + ((h >> 32) * 127 >> 32)); break;
		case T_BYTE: *(signed char *)to = (signed char)(h >> shift); break;
		case T_SHORT: *(short *)to = (short)(h >> shift); break;
		case T_INT: *(int *)to = (int)(h >> shift); break;
		case T_INT64: *(i64 *)to = (i64)(h >> shift); break;
		case T_FLOAT: *(float *)to = (float)(i64)(h >> shift); break;
		case T_DOUBLE: *(double *)to = (double)(i64)(h >> shift); break;
		}
		to += size_of(v->mem);
	}
	return to;
}

static i64 fill(Job *job)
{
	i64 bytes = 0;
	for (int i = 0; i < job->nvars; i++) {
		Var *v = &job->vars[i];
		v->data = get(sizeof(char *) * (size_t)v->records);
		for (i64 rec = 0; rec < v->records; rec++) {
			i64 n = v->count * size_of(v->mem);
			v->data[rec] = NULL;
			if (n == 0) continue;
			if (job->distinct > 0 && rec >= job->distinct) { /* the buffers of an earlier record, again */
				v->data[rec] = v->data[rec % job->distinct];
				continue;
			}
			bytes += n;
			char *to = v->data[rec] = get((size_t)n);
			uint64_t s = stream_of(v->name, rec);
			if (!v->map) {
				fill_run(to, v, s, 0, v->whole);
				continue;
			}
			Map *m = &job->maps[v->map - 1];
			for (i64 q = 0; q < m->nreqs; q++) to = fill_run(to, v, s, m->offsets[q], m->lengths[q]);
		}
	}
	return bytes;
}

/* --- memory of this process, in bytes --- */

static i64 status(const char *field)
{
	char line[256];
	i64 kb = 0;
	FILE *f = fopen("/proc/self/status", "r");
	if (!f) return 0;
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, field, strlen(field))) sscanf(line + strlen(field), ": %lld", &kb);
	fclose(f);
	return kb << 10;
}

static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");
	if (!f) return;
	fputs("5", f);
	fclose(f);
}

static double cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* --- the clock and the report --- */

void next_phase(Job *job, int phase)
{
	double now = MPI_Wtime();
	job->clock[phase] += now - job->since;
	job->since = now;
}

/* usage: PEER JOB OUT [HINT=VALUE...] */
int peer_main(int argc, char **argv, const char *library, writer *write)
{
	static const char *const phase[] = {"open", "define", "post", "flush", "close"};
	Job job;
	memset(&job, 0, sizeof job);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	if (argc < 3) die("usage: %s JOB OUT [HINT=VALUE...]", argv[0]);
	read_job(&job, argv[1]);
	i64 data = fill(&job);
	MPI_Info info;
	MPI_Info_create(&info);
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value) die("%s, want HINT=VALUE", argv[i]);
		*value = 0;
		MPI_Info_set(info, argv[i], value + 1);
	}
	if (job.rank == 0) unlink(argv[2]);

	forget_peak();
	double used = cpu();
	i64 before = status("VmRSS");
	MPI_Barrier(MPI_COMM_WORLD);
	double start = job.since = MPI_Wtime();
	write(&job, argv[2], info);
	double took = MPI_Wtime() - start;
	i64 sums[2] = {data, status("VmHWM") - before}, all[2];
	double own[7], most[7];
	memcpy(own, job.clock, sizeof job.clock);
	own[5] = took;
	own[6] = 0;
	used = cpu() - used;
	double cpus;
	MPI_Reduce(own, most, 7, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&used, &cpus, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(sums, all, 2, MPI_LONG_LONG_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (job.rank == 0) {
		printf("{\"library\": \"%s\", \"seconds\": %.6f, \"cpu_seconds\": %.3f, \"data\": %lld, \"memory\": %lld, \"phases\": {", library, most[5], cpus, all[0], all[1]);
		for (int i = 0; i < 5; i++) printf("%s\"%s\": %.6f", i ? ", " : "", phase[i], most[i]);
		printf("}}\n");
	}
	MPI_Info_free(&info);
	MPI_Finalize();
	return 0;
}
