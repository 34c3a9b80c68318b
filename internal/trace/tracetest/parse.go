// Package tracetest reads traces of package trace, for tests.
package tracetest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Call is a line of a trace.
type Call struct {
	File       string
	Rank       int64
	Op         string // "read", "write"; others are comments in the text
	Segment    int64
	Off, N     int64 // -1: the call has none
	Start, End float64
	To         string // of a rename
}

// Trace is what a file holds.
type Trace struct {
	Head  map[string]string // "exe", "uid", "jobid", "start_time", "nprocs"
	Calls []Call
}

// The lines of darshan-dxt-parser, without its columns for Lustre and for threads.
var (
	headLine  = regexp.MustCompile(`^# (\w+): (.*)$`)
	fileLine  = regexp.MustCompile(`^# DXT, file_id: ([0-9]+), file_name: (/.*)$`)
	rankLine  = regexp.MustCompile(`^# DXT, rank: ([0-9]+), hostname: (\S+)$`)
	countLine = regexp.MustCompile(`^# DXT, write_count: ([0-9]+), read_count: ([0-9]+)$`)
	mountLine = regexp.MustCompile(`^# DXT, mnt_pt: (.+), fs_type: (\S+)$`)
	callLine  = regexp.MustCompile(`^(# | )X_POSIX +([0-9]+) +([a-z]+) +([0-9]+) +([0-9]+|-) +([0-9]+|-) +([0-9]+\.[0-9]+) +([0-9]+\.[0-9]+)(?: to (/.*))?$`)
)

// Read reads a trace. Whatever DXT's text does not have is an error, and so is a block with other counts than its head says.
func Read(name string) (*Trace, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t, err := Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// ReadAll reads all traces whose names match a pattern, as one list of calls.
func ReadAll(pattern string) (calls []Call, files int, err error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, 0, err
	}
	for _, n := range names {
		t, err := Read(n)
		if err != nil {
			return nil, 0, err
		}
		calls = append(calls, t.Calls...)
	}
	return calls, len(names), nil
}

// Parse is Read of a text.
func Parse(text string) (*Trace, error) {
	t := &Trace{Head: map[string]string{}}
	if !strings.HasPrefix(text, "# darshan") || !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("the text begins or ends otherwise")
	}
	type block struct {
		file, rank  string
		write, read int
		mounted     bool
	}
	var at block
	begun := false
	end := func() error {
		if at.write != 0 || at.read != 0 || at.file != "" && (at.rank == "" || !at.mounted) {
			return fmt.Errorf("a block of %q lacks %d writes, %d reads or lines of its head", at.file, at.write, at.read)
		}
		at = block{}
		return nil
	}
	atoi := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		bad := func() error { return fmt.Errorf("line %d: %q", i+1, line) }
		switch {
		case line == "":
			if err := end(); err != nil {
				return nil, err
			}
		case line == "# DXT_POSIX module data":
			begun = true
		case strings.HasPrefix(line, "# ***"), strings.HasPrefix(line, "# Module "), i == 0, strings.HasPrefix(line, "# mount"):
		case !begun:
			m := headLine.FindStringSubmatch(line)
			if m == nil {
				return nil, bad()
			}
			t.Head[m[1]] = m[2]
		case fileLine.MatchString(line):
			at.file = fileLine.FindStringSubmatch(line)[2]
		case rankLine.MatchString(line):
			at.rank = rankLine.FindStringSubmatch(line)[1]
		case countLine.MatchString(line):
			m := countLine.FindStringSubmatch(line)
			at.write, at.read = int(atoi(m[1])), int(atoi(m[2]))
		case mountLine.MatchString(line):
			at.mounted = true
		default:
			m := callLine.FindStringSubmatch(line)
			if m == nil || at.file == "" || m[2] != at.rank {
				return nil, bad()
			}
			c := Call{File: at.file, Rank: atoi(m[2]), Op: m[3], Segment: atoi(m[4]), Off: atoi(m[5]), N: atoi(m[6]), To: m[9]}
			var err1, err2 error
			c.Start, err1 = strconv.ParseFloat(m[7], 64)
			c.End, err2 = strconv.ParseFloat(m[8], 64)
			if moves := c.Op == "read" || c.Op == "write"; err1 != nil || err2 != nil || c.End < c.Start || moves != (m[1] == " ") || moves && (c.Off < 0 || c.N < 0) {
				return nil, bad()
			}
			switch c.Op {
			case "write":
				at.write--
			case "read":
				at.read--
			}
			t.Calls = append(t.Calls, c)
		}
	}
	return t, end()
}
