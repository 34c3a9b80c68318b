// Command mutate breaks promises of the code one by one and checks that a test fails.
//
// A list beside it, NAME.txt, belongs to a room. Each entry is one mutation: a change of the source after which
// the program compiles and does something wrong. The tests of the entry run with it (go test -overlay, so the
// checkout is never changed), and at least one of them must fail.
//
//	= name of the mutation
//	why: what is lost with it
//	test: ./blob Crash|Fault
//	file: blob/internal/write/commits.go
//	 	a line that stays
//	-	a line that goes
//	+	a line that comes
//
// test: may come several times: a package, and a pattern for go test -run, which is tried first. If no test notices, the
// whole suites of the packages run. file: begins a piece of the change; its lines that stay and that go must occur in that order,
// one after the other, in just one place of the file. White space at both ends of a line does not count. Several pieces
// in one file each begin with file:. Lines that begin with # are comments.
//
// An entry whose lines are no longer found, or whose change does not compile, is a failure like one that survives: the list must follow
// the code. A test that does not end within the limit has noticed. A test that fails without the change too has not, and the run ends
// with exit code 2.
package main
