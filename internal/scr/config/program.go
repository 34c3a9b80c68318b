package config

import (
	"blobio/internal/base/fault"
	"fmt"
	"iter"
)

// Config implements SCR_Config. It sets, unsets or queries a parameter or a child of a descriptor.
//
//	"SCR_FLUSH=5"             sets
//	"CKPT=0 TYPE=XOR"         sets a child of a descriptor
//	"SCR_FLUSH="              removes the setting of the program
//	"CKPT=0 TYPE="            removes the setting of a child
//	"SCR_FLUSH"               queries the effective value, from any source
//	"CKPT=0 TYPE"             queries a child
//
// For a query, ok reports whether the name has a value. For the other forms ok is false. The environment and the user's file
// override settings of the program. After Lock only queries are allowed; other calls return ErrLocked. Some parameters may
// never be set by the program; Config returns ErrNotYours. For any other text Config returns a *SyntaxError.
func (s *Set) Config(text string) (value string, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &lineParser{line: 1, text: text, open: true, env: func(name string) (string, bool) { v, ok := s.vars[name]; return v, ok }}
	pairs, end, err := p.parse()
	if err != nil {
		return "", false, err
	}
	if len(pairs) == 0 {
		return "", false, &SyntaxError{Line: 1, Column: 1, Msg: "empty setting"}
	}
	if end == endsQuery {
		return s.places.ask(pairs)
	}
	if s.locked {
		return "", false, fmt.Errorf("%s: %w", text, ErrLocked)
	}
	if end == endsUnset {
		if err := mayProgram(pairs); err != nil {
			return "", false, err
		}
		s.places.program.unset(pairs)
		return "", false, nil
	}
	return "", false, s.places.program.set(pairs)
}

// ask answers a query. The last element of pairs is a key without a value.
func (p *places) ask(pairs []Pair) (string, bool, error) {
	key := pairs[len(pairs)-1].Key
	switch len(pairs) {
	case 1:
		v := p.lookup(key)
		return v.Text, v.Origin.Source != Unset, nil
	case 2:
		lines, _ := p.lines(pairs[0].Key)
		for i := range lines {
			if lines[i].Pair == pairs[0] {
				v, ok := lines[i].Child(key)
				return v, ok, nil
			}
		}
		return "", false, nil
	}
	return "", false, &SyntaxError{Line: 1, Column: 1, Msg: "query has too many keys, want at most a parent and a key"}
}

// unset removes a setting. The last element of pairs is a key without a value.
func (f *file) unset(pairs []Pair) {
	key := pairs[len(pairs)-1].Key
	if len(pairs) == 1 {
		f.remove(func(e *Entry) bool { return e.Key == key })
		return
	}
	for i := range f.Entries {
		e := &f.Entries[i]
		if e.Pair != pairs[0] {
			continue
		}
		for j := range e.Children {
			if e.Children[j].Key == key {
				e.Children = append(e.Children[:j:j], e.Children[j+1:]...)
				break
			}
		}
	}
}

// Paths yields the settings of one source (UserFile, Program or SystemFile) as paths of SCR's tree: {KEY, VALUE} for each
// parent pair, and {KEY, VALUE, CHILD, VALUE} for each child of a descriptor. The paths of Program are written to
// <prefix>/.scr/app.conf, where users and other programs can read them.
func Paths(s *Set, src Source) iter.Seq[[]string] {
	s.mu.RLock()
	var paths [][]string
	for _, f := range s.places.files() {
		if f.src != src {
			continue
		}
		for _, e := range f.Entries {
			if _, tree := descriptorKeys[e.Key]; !tree {
				// A parameter has only one value, the last.
				if last, _ := f.last(e.Key); last.Pair != e.Pair {
					continue
				}
				e.Children = nil
			}
			paths = append(paths, []string{e.Key, e.Value})
			for _, c := range e.Children {
				paths = append(paths, []string{e.Key, e.Value, c.Key, c.Value})
			}
		}
	}
	s.mu.RUnlock()
	return func(yield func([]string) bool) {
		for _, p := range paths {
			if !yield(p) {
				return
			}
		}
	}
}

// set stores the program's settings.
func (f *file) set(pairs []Pair) error {
	key := pairs[0].Key
	if err := mayProgram(pairs); err != nil {
		return err
	}
	if _, tree := descriptorKeys[key]; !tree {
		f.remove(func(e *Entry) bool { return e.Key == key }) // a parameter has only one value
	}
	if !f.add(pairs, 0) {
		return fault.Usage("more than %d keys after %s=%s", maxChildren, key, pairs[0].Value)
	}
	return nil
}

// mayProgram returns an error if the program may not set the name of the first pair.
func mayProgram(pairs []Pair) error {
	key := pairs[0].Key
	_, tree := descriptorKeys[key]
	if p := find(key); p != nil && p.NoProgram || descriptorKeys[key] {
		return fmt.Errorf("%s: %w", key, ErrNotYours)
	}
	if !tree && len(pairs) > 1 {
		return fault.Usage("%s is not a descriptor and cannot have children", key)
	}
	return nil
}
