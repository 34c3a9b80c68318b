// Package commtest is the contract of comm.Comm as tests, for any implementation.
//
// Suite is the contract of every engine. Failures is the contract of an engine
// that can see its ranks fail (goroutines can; an MPI job ends instead). Both are
// given a Runner that starts ranks.
package commtest
