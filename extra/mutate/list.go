package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// A mutation is one entry of a list.
type mutation struct {
	room, name string
	why        string
	tests      []suite
	edits      []edit
	line       int // of the entry in its list
}

// A suite is a package and the pattern of the tests that run first.
type suite struct{ pkg, pattern string }

// An edit replaces lines of a file, which is named from the root of the repository.
type edit struct {
	file     string
	old, new []string // without the white space at their ends
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w*)\(`)

// matches reports whether the package has tests, and one that the pattern matches.
func (s suite) matches(root string) error {
	pattern, err := regexp.Compile(s.pattern)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, s.pkg, "*_test.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for _, name := range testFunc.FindAllSubmatch(b, -1) {
			if pattern.Match(name[1]) {
				return nil
			}
		}
	}
	return fmt.Errorf("no test of %s matches %q", s.pkg, s.pattern)
}

func (m *mutation) id() string { return m.room + "/" + m.name }

// load reads all lists of a folder. The room of NAME.txt is NAME.
func load(dir string) ([]*mutation, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var all []*mutation
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list, err := parse(strings.TrimSuffix(filepath.Base(name), ".txt"), b)
		if err != nil {
			return nil, fmt.Errorf("%s:%w", name, err)
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no lists", dir)
	}
	return all, nil
}

// parse reads the list of a room. Errors begin with the number of the line.
func parse(room string, b []byte) ([]*mutation, error) {
	var list []*mutation
	var m *mutation
	seen := map[string]bool{}
	whole := func() error {
		switch {
		case m == nil:
			return nil
		case m.why == "" || len(m.tests) == 0 || len(m.edits) == 0:
			return fmt.Errorf("%d: %s: want lines why:, test: and file: of it", m.line, m.name)
		case seen[m.name]:
			return fmt.Errorf("%d: %s: twice", m.line, m.name)
		}
		for _, e := range m.edits {
			if len(e.old) == 0 || strings.Join(e.old, "\n") == strings.Join(e.new, "\n") {
				return fmt.Errorf("%d: %s: nothing changes in %s", m.line, m.name, e.file)
			}
		}
		seen[m.name] = true
		return nil
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; s.Scan(); n++ {
		text := s.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		if text[0] == '=' {
			if err := whole(); err != nil {
				return nil, err
			}
			m = &mutation{room: room, name: strings.TrimSpace(text[1:]), line: n}
			list = append(list, m)
			continue
		}
		if m == nil {
			return nil, fmt.Errorf("%d: %q before the first entry", n, text)
		}
		if strings.ContainsRune(" +-", rune(text[0])) {
			if len(m.edits) == 0 {
				return nil, fmt.Errorf("%d: a line of source, want file: first", n)
			}
			e, line := &m.edits[len(m.edits)-1], strings.TrimSpace(text[1:])
			if text[0] != '+' {
				e.old = append(e.old, line)
			}
			if text[0] != '-' {
				e.new = append(e.new, line)
			}
			continue
		}
		key, value, _ := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "why":
			m.why = value
		case "test":
			pkg, pattern, _ := strings.Cut(value, " ")
			m.tests = append(m.tests, suite{pkg, pattern})
		case "file":
			m.edits = append(m.edits, edit{file: value})
		default:
			return nil, fmt.Errorf("%d: %q: want why:, test:, file: or a line of source", n, text)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return list, whole()
}

var errApplies = errors.New("no longer applies")

// apply makes the changed files of a mutation, by name from the root.
func (m *mutation) apply(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, e := range m.edits {
		b, ok := files[e.file]
		if !ok {
			var err error
			if b, err = os.ReadFile(filepath.Join(root, e.file)); err != nil {
				return nil, fmt.Errorf("%w: %v", errApplies, err)
			}
		}
		b, err := e.apply(b)
		if err != nil {
			return nil, err
		}
		files[e.file] = b
	}
	return files, nil
}

func (e edit) apply(b []byte) ([]byte, error) {
	lines := strings.Split(string(b), "\n")
	at, places := 0, 0
next:
	for i := 0; i+len(e.old) <= len(lines); i++ {
		for k, want := range e.old {
			if strings.TrimSpace(lines[i+k]) != want {
				continue next
			}
		}
		at = i
		places++
	}
	if places != 1 {
		return nil, fmt.Errorf("%w: %s has %q in %d places, want 1", errApplies, e.file, strings.Join(e.old, "\n"), places)
	}
	out := append(append(lines[:at:at], e.new...), lines[at+len(e.old):]...)
	return []byte(strings.Join(out, "\n")), nil
}

// sum identifies the present content of this entry in results.
func (m *mutation) sum() string {
	return fmt.Sprintf("%.8x", sha256.Sum256(fmt.Append(nil, m.tests, m.edits)))
}
