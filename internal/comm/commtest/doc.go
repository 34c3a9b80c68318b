// Package commtest is the contract of comm.Comm as tests, for any implementation.
//
// Suite holds what every engine must do. Failures holds what an engine must do
// that can see its ranks fail (goroutines can; an MPI job ends instead). Both are
// given a Runner that starts ranks.
package commtest
