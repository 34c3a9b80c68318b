// Package runlog writes and reads the event log of a run, which has one line for each
// event. SCR writes this log to <prefix>/.scr/log and to syslog. The package also computes
// from a log how often to take checkpoints.
//
//	New           a Logger, which writes Entries to sinks: Text, Syslog
//	Read          a Log: the entries of a file, and the number of invalid lines
//	Analyze       Stats: costs of checkpoints, times between failures
//	Young, Daly   the optimal time between two checkpoints
//
//	2026-11-21T01:46:22: host=node0, jobid=1145655, event=START, procs=4, nodes=4
//
// The time is local, in whole seconds, without a zone. A run may die while it writes a
// line. Therefore readers skip invalid lines, and writers first write a newline if the log
// does not end with one. Syslog gets the same line without the time, with facility local7,
// level info and tag SCR. Windows has no syslog.
//
// docs/format-scr.md#log describes the fields.
//
// Read first: line.go, logger.go.
package runlog
