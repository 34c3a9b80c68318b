package cachedir

import (
	"maps"
	"slices"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

const (
	keyState = "STATE"
	keyRank  = "RANK"
	keyFiles = "FILES"
)

// States of a group.
const (
	StateCorrupt = 1 // being encoded or rebuilt: the redundancy files cannot be trusted
	StateEncoded = 2 // the redundancy files protect the dataset
)

// WriteState writes the state of the redundancy files of a group to <dir>/.scr/<group>er. The caller must sync the folder.
func WriteState(fsys vfs.FS, dir, group string, state int) error {
	if state != StateCorrupt && state != StateEncoded {
		return fault.Usage("state %d", state)
	}
	return writeState(fsys, dir, group, state, kvtree.New())
}

func writeState(fsys vfs.FS, dir, group string, state int, t *kvtree.Tree) error {
	t.Value(keyState).SetInt(state)
	return replace(fsys, GroupFile(dir, group, stateName), t)
}

// WriteEncoded is like WriteState with StateEncoded, but also stores the dataset's catalogue entry. Rebuild uses the entry if
// the catalogue is lost. The original SCR does not write this entry and ignores it.
func WriteEncoded(fsys vfs.FS, group string, e Cached) error {
	return writeState(fsys, e.Path, group, StateEncoded, e.tree())
}

// ReadState reads the state of a group: StateCorrupt or StateEncoded. The error wraps fs.ErrNotExist if there is no state file.
func ReadState(fsys vfs.FS, dir, group string) (int, error) {
	name := GroupFile(dir, group, stateName)
	t, err := kvtree.ReadFile(fsys, name, nil)
	if err != nil {
		return 0, err
	}
	f := record.Fields{Tree: t, File: name}
	state := f.Int(keyState, 0)
	if err := f.Err(); err != nil {
		return 0, err
	}
	if state != StateCorrupt && state != StateEncoded {
		return 0, fault.In(name, keyState, fault.ErrCorrupt, "%d, want %d or %d", state, StateCorrupt, StateEncoded)
	}
	return state, nil
}

// WriteShuffile writes <dir>/.scr/<group>shuffile. It lists the files on this device by rank, protected files and redundancy
// files. WriteShuffile keeps the order of the files. The caller must sync the folder.
func WriteShuffile(fsys vfs.FS, dir, group string, files map[int][]string) error {
	t := kvtree.New()
	list := t.Touch(keyRank)
	for _, rank := range slices.Backward(slices.Sorted(maps.Keys(files))) {
		if rank < 0 {
			return fault.Usage("rank %d", rank)
		}
		sub := list.Touch(strconv.Itoa(rank))
		names := sub.Touch(keyFile)
		for _, n := range slices.Backward(files[rank]) { // the key that is set last becomes the first of the list
			names.Touch(n)
		}
		sub.Value(keyFiles).SetInt(names.Len())
	}
	return replace(fsys, GroupFile(dir, group, shuffileName), t)
}

// ReadShuffile reads the list that WriteShuffile wrote. The error wraps fs.ErrNotExist if the file does not exist.
func ReadShuffile(fsys vfs.FS, dir, group string) (map[int][]string, error) {
	name := GroupFile(dir, group, shuffileName)
	t, err := kvtree.ReadFile(fsys, name, nil)
	if err != nil {
		return nil, err
	}
	files := map[int][]string{}
	for key, sub := range t.Get(keyRank).All() {
		rank, ok := record.Number(key)
		if !ok {
			return nil, fault.In(name, keyRank, fault.ErrCorrupt, "%.40q, want a rank", key)
		}
		f := record.Fields{Tree: sub, File: name, Path: keyRank + "/" + key}
		n, names := f.Int(keyFiles, 0), sub.Get(keyFile).Keys()
		if err := f.Err(); err != nil {
			return nil, err
		}
		if n != len(names) {
			return nil, fault.In(name, f.Path+"/"+keyFiles, fault.ErrCorrupt, "%d, but %d are listed", n, len(names))
		}
		files[rank] = names
	}
	return files, nil
}
