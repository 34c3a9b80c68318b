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
// "number name" for each name. Names keep their numbers until the run ends.
type names struct {
	*files
	ids    map[string]int32
	stored int // number of names in the file
}

// SetID returns the number of the variable with a name. A new name gets the next free number. The variable has no bytes until
// Protect.
func (s *Session) SetID(name string) int32 {
	id, ok := s.names.ids[name]
	if !ok {
		taken := slices.Collect(maps.Values(s.names.ids))
		id = int32(len(s.vars.list))
		for s.vars.get(id) != nil || slices.Contains(taken, id) {
			id++
		}
		s.names.ids[name] = id
	}
	if s.vars.get(id) == nil {
		s.vars.add(id)
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

// add gives a variable of the restart's checkpoint its name, unless the name has a number.
func (n *names) add(name string, id int32) {
	if _, ok := n.ids[name]; !ok && name != "" {
		n.ids[name] = id
	}
}

// save writes the names of this rank to its file before a checkpoint needs them.
func (n *names) save() error {
	if len(n.ids) == n.stored {
		return nil
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(n.ids)) {
		text = fmt.Appendf(text, "%d %q\n", n.ids[name], name)
	}
	if err := durable.MkdirAll(n.fs, n.p.meta, true); err != nil {
		return err
	}
	if err := durable.Replace(n.fs, n.p.names(n.p.rank), text, durable.ReplaceOptions{Sync: true, SyncDir: true}); err != nil {
		return err
	}
	n.stored = len(n.ids)
	return nil
}

// load reads the names of this rank for a restart.
func (n *names) load() error {
	file := n.p.names(n.p.rank)
	text, err := vfs.ReadFile(n.fs, file, maxNames)
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
		n.ids[name] = id
		at += int64(len(line))
	}
	n.stored = len(n.ids)
	return nil
}

// remove removes the files of names of all ranks.
func (n *names) remove(ranks int) error {
	var errs []error
	for rank := range ranks {
		errs = append(errs, durable.Remove(n.fs, n.p.names(rank)))
	}
	return errors.Join(errs...)
}
