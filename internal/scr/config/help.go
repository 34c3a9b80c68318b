package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Setting is a parameter with its effective value.
type Setting struct {
	Param
	Value Value
}

// Settings returns all parameters, except passwords, with their effective values, in the order of the table.
func Settings(s *Set) []Setting {
	out := make([]Setting, 0, len(params))
	for _, p := range Params() {
		v := s.Lookup(p.Name)
		if p.Name == "SCR_LOG_DB_PASS" && v.Text != "" {
			v.Text = "(set)"
		}
		out = append(out, Setting{p, v})
	}
	return out
}

// WriteManual writes a manual for a terminal: the sources of parameters, the file syntax, all parameters with their defaults,
// and the descriptors.
func WriteManual(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(manualHead)
	for i := range params {
		p := &params[i]
		fmt.Fprintf(b, "  %s", p.Name)
		switch d := builtin(p); {
		case d != "":
			fmt.Fprintf(b, "=%s", d)
		case p.Kind == kindChoice:
			fmt.Fprintf(b, "=%s", strings.Join(p.Choices, "|"))
		default:
			fmt.Fprintf(b, "=<%s>", p.Kind)
		}
		gen := p.Gen
		if gen == "own" {
			gen = "blobio only"
		}
		fmt.Fprintf(b, "   [%s]\n        %s\n", gen, p.Help)
		switch {
		case p.NoUser && p.NoProgram:
			b.WriteString("        Neither the user nor the program may set it.\n")
		case p.NoUser:
			b.WriteString("        The user may not set it.\n")
		case p.NoProgram:
			b.WriteString("        The program may not set it.\n")
		}
	}
	b.WriteString(manualTail)
	return b.Flush()
}

const manualHead = `WHERE PARAMETERS ARE SET

The first of these places that sets a parameter wins:
  1. the environment
  2. the user file: $SCR_CONF_FILE, else <prefix>/.scrconf, where <prefix> is SCR_PREFIX
     of the environment or the working directory
  3. the program (scr.Config.Params; in C SCR_Config)
  4. the system file
  5. the default
Descriptors (GROUPS, STORE, CKPT, ...) are read from files and the program only. The
first place with any line of a key supplies all lines of that key.
A setting without effect gives a note: an unknown parameter, one that is set twice, one
that this place may not set.

FILES

  # a comment
  SCR_COPY_TYPE = FILE
  SCR_PREFIX=/p/${USER}/run\ 1
  CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=16

A line holds one entry; further pairs on the line belong to it. A value ends at a blank,
"=", "#" or the end of the line; a backslash makes a blank, "=", "#" or "$" part of it.
$NAME and ${NAME} come from the environment. Keys are case-insensitive. Paths are written
with "/", on Windows too.

  flag      an integer; 0 is no
  integer   decimal
  number    decimal fraction
  size      bytes; k m g t p e are powers of 1024, b may follow: 512k, 1.5m, 2GB
  time      seconds since 1970

A value of the wrong kind is an error with file and line.

PARAMETERS

Each with its default or its kind, and in brackets the generations of SCR that know it:
A (2011 to 2013), B (1.1.8 to 2.0), C (3.x).

`

const manualTail = `
DESCRIPTORS

GROUPS=NODE NAME=VALUE ...    one line for each node
  Nodes with the same value of NAME form one failure group of that name. The groups
  NODE and WORLD always exist.
    GROUPS=zin1 POWER=psu1 SWITCH=0

STORE=DIR ...                 a directory on a storage device; also the name of the store
  GROUP=NODE                  ranks that share the device
  COUNT=SCR_CACHE_SIZE        datasets kept in it
  ENABLED=1                   0: not used
  MKDIR=1                     0: directories cannot be made in it
  FLUSH, TYPE                 how files are moved from it (C: FLUSH; A, B: TYPE); without
                              effect here, see SCR_FLUSH_ASYNC
  The cache base and the control base (COUNT=0) are stores without a line.
    STORE=/ssd GROUP=NODE COUNT=3

CKPT=NUMBER ...               redundancy; used if SCR_COPY_TYPE is FILE, else the
                              parameters make the only descriptor. Numbers go from 0
                              without a gap. Of the enabled descriptors whose INTERVAL
                              divides the id of a checkpoint, the one with the largest
                              INTERVAL is used.
  INTERVAL=1                  one descriptor must have 1
  GROUP=SCR_GROUP             failure group
  STORE=SCR_CACHE_BASE        store
  TYPE=SCR_COPY_TYPE          SINGLE, PARTNER, XOR or RS; XOR if SCR_COPY_TYPE is FILE
  SET_SIZE=SCR_SET_SIZE       least number of ranks of a set
  SET_FAILURES=SCR_SET_FAILURES   RS: losses that a set survives
  REPLICAS=1                  PARTNER: copies (blobio only)
  HOP_DISTANCE=SCR_HOP_DISTANCE   A: distance between the members of a set
  OUTPUT=0                    1: for datasets that are not checkpoints
  BYPASS=SCR_CACHE_BYPASS     1: write to the prefix directory directly
  ENABLED=1                   0: not used
    CKPT=1 INTERVAL=4 GROUP=NODE STORE=/ssd TYPE=XOR SET_SIZE=8

CNTLDIR=DIR BYTES=SIZE        what a node must offer: the run loop leaves out nodes on
CACHEDIR=DIR BYTES=SIZE       which DIR is smaller, or cannot be listed or written to
    CACHEDIR=/ssd BYTES=500GB
`
