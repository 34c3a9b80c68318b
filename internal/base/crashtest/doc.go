// Package crashtest has what tests need to set a program against the world.
//
// A [Scenario] is a program on file systems in memory. [Scenario.Cuts] cuts the power between any two of its operations,
// [Scenario.Faults] has each operation fail once, in all given ways; the test judges each state that is left. Of a long
// program a sample is looked at, which a seed draws; BLOBIO_LONG=1 asks for more of it, or all ([Times]). States are shown one after the other:
// a test with several scenarios makes them parallel subtests.
//
// [Machines] share a file system, and can be stopped at any operation.
package crashtest
