package config

import (
	"fmt"
	"iter"

	"blobio/internal/base/fault"
)

// Paths yields what one place sets (UserFile, Program or SystemFile), as paths
// of the tree that SCR keeps it in: {KEY, VALUE}, and for each child of a
// descriptor {KEY, VALUE, CHILD, VALUE}. The paths of Program are the content
// of <prefix>/.scr/app.conf, by which people and programs outside of the run
// learn what the program has set.
func (s *Set) Paths(src Source) iter.Seq[[]string] {
	s.mu.RLock()
	var paths [][]string
	for _, f := range s.files() {
		if f.src != src {
			continue
		}
		for _, e := range f.Entries {
			if _, tree := descriptorKeys[e.Key]; !tree {
				// A parameter has one value: the last.
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

// setProgram sets what the program asks for; the caller holds the lock.
func (s *Set) setProgram(pairs []Pair) error {
	key := pairs[0].Key
	if err := mayProgram(pairs); err != nil {
		return err
	}
	if _, tree := descriptorKeys[key]; !tree {
		s.program.remove(func(e *Entry) bool { return e.Key == key }) // a parameter has one value
	}
	if !s.program.add(pairs, 0) {
		return fault.Usage("more than %d keys behind %s=%s", maxChildren, key, pairs[0].Value)
	}
	return nil
}

// mayProgram tells whether the program may set this.
func mayProgram(pairs []Pair) error {
	key := pairs[0].Key
	_, tree := descriptorKeys[key]
	if p := find(key); p != nil && p.NoProgram || descriptorKeys[key] {
		return fmt.Errorf("%s: %w", key, ErrNotYours)
	}
	if !tree && len(pairs) > 1 {
		return fault.Usage("%s is no descriptor and has no children", key)
	}
	return nil
}
