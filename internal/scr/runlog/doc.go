// Package runlog writes and reads the event log of a run: what happened when, one
// line each, as SCR writes it to <prefix>/.scr/log and to syslog. From such a log it
// works out how often to checkpoint.
//
//	New           a Logger, which writes Entries to sinks: Text, Syslog
//	Read          a Log: the entries of a file, and how many lines made no sense
//	Analyze       Stats: costs of checkpoints, times between failures
//	Young, Daly   the best time between two checkpoints
//
//	2026-11-21T01:46:22: host=node0, jobid=1145655, event=START, procs=4, nodes=4
//
// The time is local, to the second, without a zone. A run may die while a line is
// written: reading passes over lines that make no sense, and who appends to a log
// that does not end in a newline begins with one. Syslog gets the same line without
// its time: facility local7, level info, tag SCR; there is none on Windows.
//
// docs/format-scr.md#log has the fields.
//
// Read first: line.go, logger.go.
package runlog
