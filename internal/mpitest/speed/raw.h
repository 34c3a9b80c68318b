#include <stdint.h>

enum { PINGPONG, BARRIER, ALLGATHER, ALLTOALLV, PUT, GET, BCAST, ALLREDUCE };

// raw_open makes buffers and a window for calls of up to n bytes; raw_run does a call times times and returns the seconds.
int raw_open(int64_t n);
double raw_run(int what, int n, int times);
void raw_close(void);
