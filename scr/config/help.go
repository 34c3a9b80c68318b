package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Setting is a parameter and what is in effect.
type Setting struct {
	Param
	Value Value
}

// Settings returns all parameters with what is in effect, in the order of the
// table. Passwords are left out.
func (s *Set) Settings() []Setting {
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

// WriteHelp writes the list of all parameters for a terminal.
func WriteHelp(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range params {
		p := &params[i]
		fmt.Fprintf(b, "  %s", p.Name)
		switch d := builtin(p); {
		case d != "":
			fmt.Fprintf(b, "=%s", d)
		case p.Kind == Choice:
			fmt.Fprintf(b, "=%s", strings.Join(p.Choices, "|"))
		default:
			fmt.Fprintf(b, "=<%s>", p.Kind)
		}
		fmt.Fprintf(b, "\n        %s\n", p.Help)
	}
	return b.Flush()
}

// WriteMarkdown writes docs/scr-parameters.md.
func WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(markdownHead)
	b.WriteString("| parameter | default | kind | SCR | meaning |\n|---|---|---|---|---|\n")
	for i := range params {
		p := &params[i]
		kind := p.Kind.String()
		if p.Kind == Choice {
			kind = strings.Join(p.Choices, " ")
		}
		var who []string
		if p.NoUser {
			who = append(who, "user")
		}
		if p.NoProgram {
			who = append(who, "program")
		}
		help := p.Help
		if len(who) > 0 {
			help += ". Not for the " + strings.Join(who, " or the ") + " to set"
		}
		def := p.Default
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", p.Name, def, kind, p.Gen, strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(help))
	}
	b.WriteString(markdownTail)
	return b.Flush()
}

const markdownHead = `# Parameters of SCR

This page is made from the table in ` + "`scr/config`" + `; ` + "`go test ./scr/config -update`" + ` writes it anew.

## Where they are set

The first place that has a parameter wins:

1. the environment,
2. the user's file: ` + "`$SCR_CONF_FILE`, else `<prefix>/.scrconf`" + `, with the prefix from ` + "`SCR_PREFIX`" + ` of the environment or the working directory,
3. the program (` + "`Config`" + `, the ` + "`SCR_Config`" + ` of the original),
4. the system file,
5. the default.

Descriptors are not looked for in the environment, and those of two files are not mixed: the first place that has any line of a key gives them all.
Settings that have no effect (not for the user to set, set twice, no such parameter) are told as notes; the original is silent.

## The files

` + "```" + `
# a comment
SCR_COPY_TYPE = FILE
SCR_PREFIX=/p/${USER}/run\ 1          # $NAME from the environment; a backslash makes a blank, = # $ part of the value
CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=16
` + "```" + `

One entry per line. Keys are made upper case. Pairs behind the first one of a line belong to it.
A value ends at a blank, at ` + "`=`, at `#`" + ` or with the line. Paths are written with ` + "`/`" + ` on Windows too.

| kind | text |
|---|---|
| flag | integer, 0 is no |
| integer | decimal |
| number | decimal fraction |
| size | bytes; ` + "`k m g t p e`" + ` stand for powers of 1024, in either case, ` + "`b`" + ` may follow: ` + "`512k`, `1.5m`, `2GB`" + ` |
| time | seconds since 1970 |

A value that is not of its kind is an error with file and line.

## Parameters

SCR tells which generations of SCR know a parameter: A (2011 to 2013), B (1.1.8 to 2.0), C (3.x); own: only this library.
The default base directory is that of Linux; elsewhere it is the directory for temporary files.

`

const markdownTail = `
## Descriptors

### Groups of ranks that fail together

` + "```" + `
GROUPS=zin1 POWER=psu1 SWITCH=0
GROUPS=zin2 POWER=psu1 SWITCH=1
` + "```" + `

One line for each node. Nodes with the same value of a name are one group of that name. NODE and WORLD are there always.

### Stores

` + "```" + `
STORE=/ssd GROUP=NODE COUNT=3 ENABLED=1 MKDIR=1 TYPE=pthread
` + "```" + `

| key | default | meaning |
|---|---|---|
| STORE | | directory that the device is mounted at; its name |
| GROUP | NODE | ranks that share the device |
| COUNT | SCR_CACHE_SIZE | datasets kept in it |
| ENABLED | 1 | 0: not used |
| MKDIR | 1 | 0: directories cannot be made in it |
| FLUSH, TYPE | SCR_FLUSH_TYPE | how files are moved from it (FLUSH is the name of C, TYPE that of A and B); without effect here, see SCR_FLUSH_ASYNC |

The cache base (COUNT SCR_CACHE_SIZE) and the control base (COUNT 0) are stores without a line.

### Redundancy

` + "```" + `
SCR_COPY_TYPE=FILE
CKPT=0 INTERVAL=1 GROUP=NODE   STORE=/tmp TYPE=XOR SET_SIZE=16
CKPT=1 INTERVAL=4 GROUP=NODE   STORE=/ssd TYPE=XOR SET_SIZE=8
CKPT=2 INTERVAL=8 GROUP=SWITCH STORE=/ssd TYPE=PARTNER OUTPUT=1
` + "```" + `

Used if SCR_COPY_TYPE is FILE; else there is one descriptor, made from the parameters. Of the enabled descriptors whose INTERVAL divides the id of a checkpoint, that of the largest interval is used.

| key | default | meaning |
|---|---|---|
| CKPT | | number, from 0, none left out |
| INTERVAL | 1 | see above; one descriptor must have 1 |
| GROUP | SCR_GROUP | failure group |
| STORE | SCR_CACHE_BASE | store |
| TYPE | SCR_COPY_TYPE, else XOR | SINGLE, PARTNER, XOR, RS |
| SET_SIZE | SCR_SET_SIZE | least number of ranks of a set |
| SET_FAILURES | SCR_SET_FAILURES | RS: losses that a set survives |
| REPLICAS | 1 | PARTNER: copies (own) |
| HOP_DISTANCE | SCR_HOP_DISTANCE | A: distance of the members of a set |
| OUTPUT | 0 | 1: for datasets that are no checkpoints |
| BYPASS | SCR_CACHE_BYPASS | 1: write to the prefix directory at once |
| ENABLED | 1 | 0: not used |

### What nodes must have

` + "```" + `
CNTLDIR=/dev/shm BYTES=100MB
CACHEDIR=/ssd    BYTES=500GB
` + "```" + `

The run loop leaves out nodes whose directories are smaller, cannot be listed or cannot be written to.
`
