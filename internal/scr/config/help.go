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

If several places set a parameter, the first of this list wins:
  1. the environment
  2. the user file: $SCR_CONF_FILE, or else <prefix>/.scrconf. <prefix> is SCR_PREFIX
     in the environment, or else the working directory
  3. the program (scr.Config.Params; in C SCR_Config)
  4. the system file
  5. the default
Descriptors (GROUPS, STORE, CKPT, ...) are read only from the files and the program. All
lines of a key are read from the first place that has a line with this key.
A setting without effect causes a note. This happens if the parameter is unknown, if it is
set twice, or if this place may not set it.

FILES

  # a comment
  SCR_COPY_TYPE = FILE
  SCR_PREFIX=/p/${USER}/run\ 1
  CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=16

A line is one entry. Further pairs on the line belong to the first pair. A value ends at a
blank, "=", "#" or the end of the line. After a backslash, these characters and "$" are part
of the value. $NAME and ${NAME} are replaced from the environment. Keys are case-insensitive.
Paths are written with "/", also on Windows.

  flag      an integer; 0 means no
  integer   decimal
  number    decimal fraction
  size      bytes; the units k m g t p e are powers of 1024, and b may follow: 512k, 1.5m, 2GB
  time      seconds since 1970

A value of the wrong kind causes an error that names the file and the line.

PARAMETERS

Each parameter is shown with its default or its kind. In brackets are the generations of
SCR that know it: A (2011 to 2013), B (1.1.8 to 2.0), C (3.x).

`

const manualTail = `
DESCRIPTORS

GROUPS=NODE NAME=VALUE ...    one line for each node
  Nodes with the same value of NAME form one failure group of that name. The groups
  NODE and WORLD always exist.
    GROUPS=zin1 POWER=psu1 SWITCH=0

STORE=DIR ...                 a directory on a storage device; DIR is also the name of the store
  GROUP=NODE                  ranks that share the device
  COUNT=SCR_CACHE_SIZE        number of datasets kept in the store
  ENABLED=1                   0: not used
  MKDIR=1                     0: directories cannot be created in the store
  FLUSH, TYPE                 how files are copied from the store (FLUSH in C, TYPE in A
                              and B); without effect here, see SCR_FLUSH_ASYNC
  The cache base and the control base (COUNT=0) are stores even if no line defines them.
    STORE=/ssd GROUP=NODE COUNT=3

CKPT=NUMBER ...               redundancy; used only if SCR_COPY_TYPE is FILE. Otherwise
                              the parameters define a single descriptor. The numbers are
                              0, 1, 2 and so on. Of the enabled descriptors whose INTERVAL
                              divides the id of a checkpoint, the one with the largest
                              INTERVAL is used.
  INTERVAL=1                  one descriptor must have INTERVAL=1
  GROUP=SCR_GROUP             failure group
  STORE=SCR_CACHE_BASE        store
  TYPE=SCR_COPY_TYPE          SINGLE, PARTNER, XOR or RS; XOR if SCR_COPY_TYPE is FILE
  SET_SIZE=SCR_SET_SIZE       minimum number of ranks in a set
  SET_FAILURES=SCR_SET_FAILURES   RS: number of lost ranks that a set survives
  REPLICAS=1                  PARTNER: number of copies (blobio only)
  HOP_DISTANCE=SCR_HOP_DISTANCE   A: distance between the members of a set
  OUTPUT=0                    1: used for datasets that are not checkpoints
  BYPASS=SCR_CACHE_BYPASS     1: files are written directly to the prefix directory
  ENABLED=1                   0: not used
    CKPT=1 INTERVAL=4 GROUP=NODE STORE=/ssd TYPE=XOR SET_SIZE=8

CNTLDIR=DIR BYTES=SIZE        space that a node must have. The run loop does not use
CACHEDIR=DIR BYTES=SIZE       nodes on which the file system of DIR is smaller, or on which
                              DIR cannot be listed or written to
    CACHEDIR=/ssd BYTES=500GB
`
