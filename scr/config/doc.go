// Package config finds the parameters of SCR: in the environment, in the
// configuration files, in what the program sets, and in a table of defaults.
//
// # Where a parameter is looked for
//
// The first place that has it wins:
//
//	1  the environment          SCR_FLUSH=5 in the job script
//	2  the user's file          $SCR_CONF_FILE, else <prefix>/.scrconf
//	3  the program              (*Set).Config, as SCR_Config of the original
//	4  the system file          Sources.SystemFile, by the administrator
//	5  the default              the table of this package, see Params
//
// <prefix> is SCR_PREFIX of the environment, else the working directory. A file
// that is not there is empty, but one named by SCR_CONF_FILE must be there.
// Descriptors (GROUPS, STORE, CKPT, CNTLDIR, CACHEDIR, CACHE) are not looked for
// in the environment; a file that has any line of such a key gives all of
// them: those of two files are not mixed.
//
// Some names the user may not set: the table says which, Sources.NoUser and the
// parameter SCR_RESTRICTED of the system file name more. They are passed over
// in places 1 and 2, with a note. Others the program may not set; that is an
// error.
//
// # The files
//
//	file    = { [ line ] [ "#" comment ] newline }
//	line    = pair { blank pair }
//	pair    = key "=" value            blanks may stand around "="
//	value   = { char | "\" char | "$" name | "${" name "}" }
//
// A key is made upper case. A value ends at a blank, at "=", at "#" or with the
// line; a backslash makes the next character part of it, whatever it is. $NAME
// is replaced from the environment; in a file a name that is not set is an
// error, in a value of the environment itself or of the program it is empty.
//
// The first pair of a line is the parent, those after it on the line are its
// children:
//
//	SCR_FLUSH=5
//	CKPT=1 INTERVAL=4 TYPE=XOR     # the tree CKPT/1/{INTERVAL/4, TYPE/XOR}
//
// Two lines with the same first pair are one; a child given twice has its last
// value, and so has a parameter, with a note.
//
// # Values
//
//	kind     text                                    C type of the original
//	flag     integer, 0 is no                        int
//	integer  decimal                                 int
//	number   decimal fraction                        double
//	size     decimal, with a fraction if a unit      unsigned long long
//	         follows: k m g t p e, of 1024, 1024² ..,
//	         in either case, b may follow
//	time     seconds since 1970                      int
//
// The original takes the number in front of what it does not understand
// ("10x" is 10, "yes" is 0). Here that is an error with file and line.
package config
