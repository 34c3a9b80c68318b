// Package config finds the parameters of SCR: in the environment, in the
// configuration files, in what the program sets, and in a table of defaults.
//
//	Load             a Set from environment and files; Encode and Decode take it to other ranks
//	Set.Get, Int...  values; Lookup has the place of each
//	Set.Config       sets for the program, as SCR_Config does
//	DescriptorsOf    redundancy; StoresOf, GroupsOf
//	JobOf            the allocation and its directories
//	Params           the table; WriteManual prints it, with the syntax of the files
//
// The first place that has a parameter wins:
//
//	1  the environment          SCR_FLUSH=5 in the job script
//	2  the user's file          $SCR_CONF_FILE, else <prefix>/.scrconf
//	3  the program              Set.Config
//	4  the system file          Sources.SystemFile, by the administrator
//	5  the default              the table
//
// <prefix> is SCR_PREFIX of the environment, else the working directory. A file
// that is not there is empty, but one named by SCR_CONF_FILE must be there. A value
// that makes no sense ("10x", "yes" for a number) is an error with file and line;
// the original takes the digits in front.
//
// Some names the user may not set, by the table and the parameter
// SCR_RESTRICTED of the system file: they are passed over with a Note. Others the
// program may not set: ErrNotYours.
//
// Read first: set.go, load.go.
package config

// The files:
//
//	file    = { [ line ] [ "#" comment ] newline }
//	line    = pair { blank pair }
//	pair    = key "=" value            blanks may stand around "="
//	value   = { char | "\" char | "$" name | "${" name "}" }
//
// A key is made upper case. A value ends at a blank, at "=", at "#" or with the
// line; a backslash makes the next character part of it, whatever it is. $NAME is
// replaced from the environment; in a file a name that is not set is an error, in a
// value of the environment itself or of the program it is empty.
//
// The first pair of a line is the parent, those after it on the line are its
// children: CKPT=1 INTERVAL=4 TYPE=XOR is the tree CKPT/1/{INTERVAL/4, TYPE/XOR}.
// Two lines with the same first pair are one; a child given twice has its last
// value, and so has a parameter, with a note.
//
// Descriptors (GROUPS, STORE, CKPT, CNTLDIR, CACHEDIR, CACHE) are not looked for in
// the environment; a file that has any line of such a key gives all of them: those
// of two files are not mixed.
