// Package runlog writes and reads the event log of a run, with one line per event, as SCR
// writes it to <prefix>/.scr/log and to syslog. From such a log it computes how often to
// take checkpoints.
//
//	New           a Logger, which writes Entries to sinks: Text, Syslog
//	Read          a Log: the entries of a file, and the number of invalid lines
//	Analyze       Stats: costs of checkpoints, times between failures
//	Young, Daly   the optimal time between two checkpoints
//
//	2026-11-21T01:46:22: host=node0, jobid=1145655, event=START, procs=4, nodes=4
//
// The time is local, to the second, without a zone. A run may die while it
// writes a line. Readers therefore skip invalid lines, and writers begin with a newline if
// the log does not end in one. Syslog gets the same line without its time, with facility
// local7, level info and tag SCR. Windows has no syslog.
//
// docs/format-scr.md#log describes the fields.
//
// Read first: line.go, logger.go.
package runlog
