package config

import (
	"fmt"
	"sync"
)

// Set is the settings of one session. Its methods may be called by several
// goroutines.
type Set struct {
	mu     sync.RWMutex
	places places
	vars   map[string]string // the whole environment, for $NAME; not sent to other ranks
	dir    string            // working directory
	locked bool
}

// places are the places of the package comment, but for the defaults.
type places struct {
	env     map[string]string // SCR_* and the names of the job, restricted ones left out
	user    *file             // nil where there is none
	program *file
	system  *file // nil where there is none
	notes   []Note
}

// Note says that a setting has no effect.
type Note struct {
	Origin Origin
	Msg    string
}

// String is place: message.
func (n Note) String() string { return n.Origin.String() + ": " + n.Msg }

func (p *places) addNote(o Origin, format string, a ...any) {
	p.notes = append(p.notes, Note{o, fmt.Sprintf(format, a...)})
}

// Notes says which settings were passed over, and why. The original is silent
// about them.
func (s *Set) Notes() []Note {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]Note(nil), s.places.notes...)
}

// Value is the text of a parameter and where it was set.
type Value struct {
	Text   string
	Origin Origin // Source is Unset where nothing sets it, nor a default
}

// Lookup finds a parameter in the five places of the package comment; the first that has it wins.
func (s *Set) Lookup(name string) Value {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.places.lookup(name)
}

func (p *places) lookup(name string) Value {
	if v, ok := p.env[name]; ok {
		return Value{v, Origin{Source: Environment}}
	}
	if name == "SCR_CONF_FILE" {
		return Value{} // in a file it would come too late
	}
	for _, f := range p.files() {
		if name == "SCR_RESTRICTED" && f.src != SystemFile {
			continue
		}
		if e, ok := f.last(name); ok {
			return Value{e.Value, Origin{f.src, f.Name, e.Last}}
		}
	}
	if known := find(name); known != nil && known.Default != "" {
		return Value{builtin(known), Origin{Source: Default}}
	}
	return Value{}
}

type source struct {
	*file
	src Source
}

// files in the order in which they are looked at.
func (p *places) files() []source {
	var out []source
	for _, f := range []source{{p.user, UserFile}, {p.program, Program}, {p.system, SystemFile}} {
		if f.file != nil {
			out = append(out, f)
		}
	}
	return out
}

// Get is the text of a parameter, "" where nothing sets it.
func (s *Set) Get(name string) string { return s.Lookup(name).Text }

// IsSet reports whether anything but the default sets a parameter.
func (s *Set) IsSet(name string) bool {
	src := s.Lookup(name).Origin.Source
	return src != Unset && src != Default
}

// Lines returns the lines of a key (GROUPS, STORE, CKPT, CNTLDIR, CACHEDIR,
// CACHE) from the first place that has any, and which place that is.
func Lines(s *Set, key string) ([]Entry, Origin) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.places.lines(key)
}

func (p *places) lines(key string) ([]Entry, Origin) {
	for _, f := range p.files() {
		if l := f.with(key); len(l) > 0 {
			return l, Origin{Source: f.src, File: f.Name}
		}
	}
	return nil, Origin{}
}

// Lock ends the time in which Config may set something: SCR is open.
func (s *Set) Lock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked = true
}
