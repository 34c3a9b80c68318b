// Package crashtest tests programs against power cuts, failing operations and other machines.
//
// A [Scenario] is a program on file systems in memory. [Scenario.Cuts] cuts the power between any two of its operations.
// [Scenario.Faults] makes each operation fail once, in all given ways. The test judges each resulting state. For a long
// program a seed draws a sample; BLOBIO_LONG=1 tests more states or all ([Times]). States are judged one after the other,
// so a test with several scenarios makes them parallel subtests.
//
// [Machines] share a file system and can be stopped at any operation.
package crashtest
