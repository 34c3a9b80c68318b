// Package commtest tests the contract of comm.Comm for any implementation.
//
// Suite has the tests for every implementation. Failures has the tests for implementations in which a run continues after a rank
// fails: goroutines do, but an MPI job ends. Both use a Runner, which starts ranks.
package commtest
