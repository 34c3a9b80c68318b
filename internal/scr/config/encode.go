package config

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"maps"
)

// wire is the form in which settings are sent to other ranks. It includes only the environment variables that this package
// reads: SCR_* and jobVars.
type wire struct {
	Env                   map[string]string
	Dir                   string
	User, Program, System *wireFile
	Notes                 []Note
	Locked                bool
}

type wireFile struct {
	Name    string
	Entries []Entry
}

// Encode returns the settings as bytes, to send them to ranks that have not called Load.
func Encode(s *Set) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	pack := func(f *file) *wireFile {
		if f == nil {
			return nil
		}
		return &wireFile{f.Name, f.Entries}
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(wire{
		Env: s.places.env, Dir: s.dir, Notes: s.places.notes, Locked: s.locked,
		User: pack(s.places.user), Program: pack(s.places.program), System: pack(s.places.system),
	})
	return b.Bytes(), err
}

// Decode is the inverse of Encode. The decoded Set knows only the environment variables for SCR. Later calls of Config replace
// any other $NAME by nothing.
func Decode(b []byte) (*Set, error) {
	var w wire
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&w); err != nil {
		return nil, fmt.Errorf("cannot parse the settings of another rank: %w", err)
	}
	unpack := func(f *wireFile) *file {
		if f == nil {
			return nil
		}
		out := &file{Name: f.Name}
		for _, e := range f.Entries {
			out.merge(e)
		}
		return out
	}
	p := places{env: w.Env, notes: w.Notes, user: unpack(w.User), program: unpack(w.Program), system: unpack(w.System)}
	if p.env == nil {
		p.env = map[string]string{}
	}
	if p.program == nil {
		p.program = &file{}
	}
	s := &Set{places: p, dir: w.Dir, locked: w.Locked}
	s.vars = maps.Clone(p.env)
	return s, nil
}
