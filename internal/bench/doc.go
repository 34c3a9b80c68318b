// Package bench measures the time of writing, reading and converting, and compares it with the limits of the machine.
// Workloads are the named measurements of blobio bench, which Run runs. RunSweep measures all combinations of option values.
//
// # How Run measures
//
// A Row holds the times of one way to do a job, in several runs. Compared rows take
// turns: A B A B. After each turn the bounds of the row are measured: plain writes of
// the same number of bytes by the same number of writers, or plain reads. The share of a
// bound is a ratio of medians.
//
// The time runs from Create (or open) to the end of Close, on the slowest rank, after a
// barrier. It includes checksums and the manifest, but not the preparation of data and
// maps. Values follow the unique pattern of e3smcases.
package bench
