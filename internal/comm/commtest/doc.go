// Package commtest tests the contract of comm.Comm for any implementation.
//
// Suite has the tests for every engine. Failures has the tests for engines that can see their ranks fail (goroutines can; an MPI
// job ends instead). Both use a Runner that starts ranks.
package commtest
