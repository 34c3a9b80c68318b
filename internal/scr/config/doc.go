// Package config finds the parameters of SCR in the environment, in the configuration
// files, in the settings of the program, and in a table of defaults.
//
//	Load             a Set from environment and files; Encode and Decode copy it to other ranks
//	Set.Get, Int...  values; Lookup also returns the place of the setting
//	Set.Config       settings of the program, as in SCR_Config
//	DescriptorsOf    redundancy; StoresOf, GroupsOf
//	JobOf            the allocation and its directories
//	Params           the table; WriteManual prints it, with the syntax of the files
//
// The first source that sets a parameter wins:
//
//	1  the environment          SCR_FLUSH=5 in the job script
//	2  the user's file          $SCR_CONF_FILE, else <prefix>/.scrconf
//	3  the program              Set.Config
//	4  the system file          Sources.SystemFile, by the administrator
//	5  the default              the table
//
// <prefix> is SCR_PREFIX of the environment, else the working directory. A missing
// file counts as empty, except a file named by SCR_CONF_FILE. An invalid value ("10x"
// or "yes" for a number) is an error with file and line; SCR uses the leading
// digits.
//
// The table and the parameter SCR_RESTRICTED of the system file forbid the user to set
// some names. Such settings are ignored with a Note. The program may not set some other
// names (ErrNotYours).
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
// Keys are converted to upper case. A value ends at a blank, at "=", at "#" or at the
// end of the line. A backslash makes any next character part of the value. $NAME is
// replaced from the environment. An unset name is an error in a file, and empty in a value
// of the environment or of the program.
//
// The first pair of a line is the parent, and the other pairs of the line are its
// children: CKPT=1 INTERVAL=4 TYPE=XOR is the tree CKPT/1/{INTERVAL/4, TYPE/XOR}.
// Lines with the same first pair are merged. The last value of a child or parameter
// wins; a repeated parameter causes a note.
//
// The environment has no descriptors (GROUPS, STORE, CKPT, CNTLDIR, CACHEDIR, CACHE).
// All lines of a descriptor key come from the first file that has any: lines of two
// files are not mixed.
