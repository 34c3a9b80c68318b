// Package bench measures what writing, reading and converting take, beside what the machine bears. Workloads are the
// named measurements of blobio bench; Run runs some. RunSweep measures all combinations of values of options.
//
// # How Run measures
//
// A Row is what one way to do a job took, in each of several runs. Rows that are
// compared take turns: A B A B. After each turn the bounds of the row are
// measured: plain writes of the same bytes by as many writers, or plain reads. A
// share of a bound is a ratio of medians.
//
// The clock runs from Create (or open) to the end of Close, on the slowest rank, after a
// barrier. Data and maps are made before, checksums and the manifest are
// inside. Values are the unique pattern of e3smcases.
package bench
