package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"blobio/internal/base/vfs"
)

// maxFile is the maximum size of a configuration file, in bytes. It is large enough for 100,000 GROUPS lines of 100 bytes,
// one for each node.
const maxFile = 64 << 20

// maxLine is the maximum length of a line, in bytes.
const maxLine = 64 << 10

// Pair is a key and its value.
type Pair struct{ Key, Value string }

// Entry is a parent pair and its children. It is merged from all lines that begin with the parent pair.
type Entry struct {
	Pair
	Children []Pair // in order of first appearance; each key once
	Line     int    // number of the first line with the parent pair; 0 for settings of the program
	Last     int    // number of the last line with the parent pair
}

// Child returns the value of a child.
func (e *Entry) Child(key string) (string, bool) {
	for _, c := range e.Children {
		if c.Key == key {
			return c.Value, true
		}
	}
	return "", false
}

// file is the content of a configuration file, or the settings of the program.
type file struct {
	Name    string
	Entries []Entry // each parent pair once, in order of first appearance
	index   map[Pair]int
	byKey   map[string][]int
	final   map[string]int // for each key, the index of the entry that was set last
}

// readFile reads and parses a configuration file. env returns the value of an environment variable. The error joins all
// faults of the file, each a *SyntaxError.
func readFile(fsys vfs.FS, name string, env func(string) (string, bool)) (*file, error) {
	fsys = vfs.OrOS(fsys)
	b, err := vfs.ReadFile(fsys, name, maxFile)
	if err != nil {
		return nil, err
	}
	return parse(name, b, env)
}

func nothing(string) (string, bool) { return "", false }

// maxErrors is the maximum number of errors reported for one file, because a file of another type could cause millions.
const maxErrors = 20

// parse parses the text of a configuration file: lines of KEY=value pairs with # comments. WriteManual prints the syntax. env
// returns the value of an environment variable.
func parse(name string, text []byte, env func(string) (string, bool)) (*file, error) {
	if env == nil {
		env = nothing
	}
	text = bytes.TrimPrefix(text, []byte(vfs.ByteOrderMark))
	f := &file{Name: name}
	var errs []error
	line := 0
	for len(text) > 0 && len(errs) < maxErrors {
		line++
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			end = len(text) - 1
		}
		if end >= maxLine {
			return nil, errors.Join(append(errs, &SyntaxError{name, line, 1, fmt.Sprintf("line is longer than %d bytes", maxLine)})...)
		}
		pairs, _, err := parseLine(name, line, strings.TrimRight(string(text[:end+1]), "\r\n"), env)
		text = text[end+1:]
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !f.add(pairs, line) {
			errs = append(errs, &SyntaxError{name, line, 1, fmt.Sprintf("more than %d keys after %s=%s", maxChildren, pairs[0].Key, pairs[0].Value)})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return f, nil
}

// maxChildren is the maximum number of children of one parent. It limits the time of linear searches.
const maxChildren = 1024

// add adds the pairs of a line. It returns false if the parent has too many children.
func (f *file) add(pairs []Pair, line int) bool {
	if len(pairs) == 0 {
		return true
	}
	return f.merge(Entry{Pair: pairs[0], Children: pairs[1:], Line: line, Last: line})
}

// merge adds an entry.
func (f *file) merge(n Entry) bool {
	if f.index == nil {
		f.index, f.byKey, f.final = map[Pair]int{}, map[string][]int{}, map[string]int{}
	}
	i, ok := f.index[n.Pair]
	if !ok {
		i = len(f.Entries)
		f.index[n.Pair] = i
		f.byKey[n.Key] = append(f.byKey[n.Key], i)
		f.Entries = append(f.Entries, Entry{Pair: n.Pair, Line: n.Line})
	}
	e := &f.Entries[i]
	e.Last = n.Last
	if j, ok := f.final[n.Key]; !ok || n.Last >= f.Entries[j].Last {
		f.final[n.Key] = i
	}
	for _, p := range n.Children {
		at := slices.IndexFunc(e.Children, func(c Pair) bool { return c.Key == p.Key })
		switch {
		case at >= 0:
			e.Children[at].Value = p.Value
		case len(e.Children) == maxChildren:
			return false
		default:
			e.Children = append(e.Children, p)
		}
	}
	return true
}

// with returns the entries whose parent has this key.
func (f *file) with(key string) []Entry {
	if f == nil {
		return nil
	}
	var out []Entry
	for _, i := range f.byKey[key] {
		out = append(out, f.Entries[i])
	}
	return out
}

// last returns the entry that is in effect for a parameter.
func (f *file) last(key string) (*Entry, bool) {
	if f == nil {
		return nil, false
	}
	i, ok := f.final[key]
	if !ok {
		return nil, false
	}
	return &f.Entries[i], true
}

// remove drops the entries for which drop is true.
func (f *file) remove(drop func(e *Entry) bool) {
	old := f.Entries
	f.Entries, f.index, f.byKey, f.final = nil, nil, nil, nil
	for i := range old {
		if !drop(&old[i]) {
			f.merge(old[i])
		}
	}
}
