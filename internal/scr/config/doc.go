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
// The sources of a parameter, in order of precedence:
//
//	1  the environment          SCR_FLUSH=5 in the job script
//	2  the user's file          $SCR_CONF_FILE, else <prefix>/.scrconf
//	3  the program              Set.Config
//	4  the system file          Sources.SystemFile, by the administrator
//	5  the default              the table
//
// <prefix> is SCR_PREFIX from the environment, or else the working directory. A missing file
// is treated as empty, but a file named by SCR_CONF_FILE must exist. An invalid value ("10x"
// or "yes" for a number) is an error that gives file and line. The original SCR would silently
// use the leading digits.
//
// The table, and the parameter SCR_RESTRICTED in the system file, forbid users to set some
// parameters. Such settings are ignored, and a Note reports them. Some parameters may not be
// set by the program (ErrNotYours).
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
// Keys are converted to upper case. A value ends at a blank, at "=", at "#" or at the end of
// the line. A backslash makes any next character part of the value. $NAME is replaced from the
// environment. In a file an unset NAME is an error. In values from the environment or from the
// program it is replaced by nothing.
//
// The first pair of a line is the parent, and the other pairs of the line are its children:
// CKPT=1 INTERVAL=4 TYPE=XOR is the tree CKPT/1/{INTERVAL/4, TYPE/XOR}. Lines with the same
// first pair are merged. The last value of a child or parameter wins. A parameter that is set
// repeatedly causes a Note.
//
// The environment has no descriptors (GROUPS, STORE, CKPT, CNTLDIR, CACHEDIR, CACHE). All
// lines of a descriptor key are read from the first file that has a line with this key. Lines
// from two files are not mixed.
