package fti

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// names holds the numbers of named variables. FTI-FF files do not store names, so each rank has a file of names, with a line
// "number name" for each. Names keep their numbers until the run ends.
type names struct {
	ids    map[string]int32
	stored int // number of names in the file
}

// SetID returns the number of the variable with a name. If there is none, SetID assigns the next free number. The variable has no
// bytes until Protect.
func (s *Session) SetID(name string) int32 {
	id, ok := s.names.ids[name]
	if !ok {
		taken := slices.Collect(maps.Values(s.names.ids))
		id = int32(len(s.vars))
		for s.vars.get(id) != nil || slices.Contains(taken, id) {
			id++
		}
		s.names.ids[name] = id
	}
	if s.vars.get(id) == nil {
		s.vars = append(s.vars, &variable{id: id, data: []byte{}})
	}
	return id
}

// ID returns the number of the variable with a name, or -1 if neither this run nor the checkpoint of the restart has the name.
func (s *Session) ID(name string) int32 {
	if id, ok := s.names.ids[name]; ok {
		return id
	}
	return -1
}

// saveNames writes the names of this rank to its file before a checkpoint needs them.
func (s *Session) saveNames() error {
	n := &s.names
	if len(n.ids) == n.stored {
		return nil
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(n.ids)) {
		text = fmt.Appendf(text, "%d %q\n", n.ids[name], name)
	}
	if err := durable.MkdirAll(s.fs, s.p.meta, true); err != nil {
		return err
	}
	if err := durable.Replace(s.fs, s.p.names(s.p.rank), text, durable.ReplaceOptions{Sync: true, SyncDir: true}); err != nil {
		return err
	}
	n.stored = len(n.ids)
	return nil
}

// loadNames reads the names of this rank for a restart.
func (s *Session) loadNames() error {
	file := s.p.names(s.p.rank)
	text, err := vfs.ReadFile(s.fs, file, maxNames)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	at := int64(0)
	for line := range strings.Lines(string(text)) {
		var id int32
		var name string
		if _, err := fmt.Sscanf(line, "%d %q\n", &id, &name); err != nil || id < 0 {
			return fault.At(file, at, "", fault.ErrCorrupt, "%.80q, want a number and a quoted name", line)
		}
		s.names.ids[name] = id
		at += int64(len(line))
	}
	s.names.stored = len(s.names.ids)
	return nil
}

// removeNames removes the files of names of all ranks.
func (s *Session) removeNames() error {
	var errs []error
	for rank := range s.c.Size() {
		errs = append(errs, durable.Remove(s.fs, s.p.names(rank)))
	}
	return errors.Join(errs...)
}
