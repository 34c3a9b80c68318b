package config

import (
	"fmt"
	"sync"
)

// Set holds the settings of one session. Its methods may be called concurrently.
type Set struct {
	mu     sync.RWMutex
	places places
	vars   map[string]string // the whole environment, to replace $NAME; not sent to other ranks
	dir    string            // working directory
	locked bool
}

// places holds the sources listed in the package comment, except the defaults.
type places struct {
	env     map[string]string // SCR_* and jobVars, without restricted names
	user    *file             // nil: none
	program *file
	system  *file // nil: none
	notes   []Note
}

// A Note describes a setting that has no effect, and the reason.
type Note struct {
	Origin Origin
	Msg    string
}

// String returns "place: message".
func (n Note) String() string { return n.Origin.String() + ": " + n.Msg }

func (p *places) addNote(o Origin, format string, a ...any) {
	p.notes = append(p.notes, Note{o, fmt.Sprintf(format, a...)})
}

// Notes returns the settings that are ignored, with the reasons. The original SCR ignores them silently.
func (s *Set) Notes() []Note {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]Note(nil), s.places.notes...)
}

// Value is the text of a parameter and its origin.
type Value struct {
	Text   string
	Origin Origin // Source is Unset if there is neither a setting nor a default
}

// Lookup returns a parameter from the first of the five sources that sets it. The package comment lists the sources.
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
		return Value{} // files are read too late to set this parameter
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

// files returns the file sources in order of precedence.
func (p *places) files() []source {
	var out []source
	for _, f := range []source{{p.user, UserFile}, {p.program, Program}, {p.system, SystemFile}} {
		if f.file != nil {
			out = append(out, f)
		}
	}
	return out
}

// Get returns the text of a parameter, "" if it is not set.
func (s *Set) Get(name string) string { return s.Lookup(name).Text }

// IsSet reports whether any source except the default sets a parameter.
func (s *Set) IsSet(name string) bool {
	src := s.Lookup(name).Origin.Source
	return src != Unset && src != Default
}

// Lines returns the lines of a descriptor key (GROUPS, STORE, CKPT, CNTLDIR, CACHEDIR, CACHE). All lines come from the first
// source that has any. The Origin is this source.
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

// Lock makes all later Config calls fail that would change a setting, because SCR is initialized.
func (s *Set) Lock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked = true
}
