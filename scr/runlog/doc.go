// Package runlog writes and reads the event log of a run: what happened when,
// one line each, as SCR writes it to <prefix>/.scr/log and to syslog. From such
// a log it works out how often to checkpoint.
//
// # A line
//
//	2026-11-21T01:46:22: host=node0, jobid=1145655, event=START, procs=4, nodes=4
//	2026-11-21T01:46:22: host=node0, jobid=1145655, event=CHECKPOINT_START, note="/nodelocal", dset=1, name="ckpt.1"
//	2026-11-21T01:46:22: host=node0, jobid=1145655, xfer=WRITE, from=/a, to=/b, dset=1, name="ckpt.1", secs=0.001036, bytes=8444.000000, files=8
//
// The time is local, to the second, without a zone. Then fields follow, each
// parted by a comma and a blank, those without a value left out:
//
//	field   form                 of         meaning
//	host    text                 all        node that writes the line
//	jobid   text                 all        allocation
//	event   word                 events     what happened
//	xfer    word                 transfers  what was moved
//	note    text in quotes       events     for people: directory, reason, node
//	from    text                 transfers  directory the data were in
//	to      text                 transfers  directory they went to
//	dset    decimal              both       dataset id
//	name    text in quotes       both       name of the dataset
//	secs    6 decimals           both       how long it took, in seconds
//	bytes   6 decimals           transfers  size in bytes
//	files   decimal              transfers  number of files
//	procs   decimal              START      number of ranks
//	nodes   decimal              START      number of nodes
//
// Fields are written in the order: host, jobid, event or xfer, note, from, to,
// dset, name, procs, nodes, secs, bytes, files. They are read in any order;
// unknown ones are passed over.
//
// # What the original does not care about
//
// It writes any byte of a name as it is, so that a quote, a comma or a newline
// in a name tears its line apart. Here \" and \\ stand for a quote and a
// backslash inside quotes and other control characters become blanks; a text
// that would be in quotes nowhere else (host, from, to) is put in quotes if it
// holds a comma, a quote, a backslash or an equals sign. Lines of the original
// are read as they are.
//
// A run may die while a line is written. Reading passes over lines that make no
// sense and counts them; who appends to a log that does not end in a newline
// begins with one.
//
// # Syslog
//
// The same line without its time goes to facility local7, level info, tag SCR,
// where the system has a syslog (not on Windows).
//
// # How often to checkpoint
//
// [Analyze] takes from a log the mean cost C of a checkpoint (secs of
// CHECKPOINT_END, and beside it the secs of synchronous flushes shared out over
// all checkpoints) and the mean time between failures M (time that runs
// lasted, over the number of runs that did not end with HALT). [Young] and
// [Daly] give the best time between two checkpoints:
//
//	Young  sqrt(2CM)
//	Daly   sqrt(2CM) * (1 + sqrt(C/2M)/3 + C/18M) - C   for C < 2M, else M
package runlog
