package prefixdir

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"blobio/internal/scr/cadence"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Keys of halt.scr.
const (
	keyCheckpointsLeft = "CheckpointsLeft"
	keyExitAfter       = "ExitAfter"
	keyExitBefore      = "ExitBefore"
	keyHaltSeconds     = "HaltSeconds"
	keyExitReason      = "ExitReason"
)

// HaltFile is the halt file, which holds the conditions that end the run.
type HaltFile struct{ TreeFile }

// Read reads the halt file under a shared lock. A missing file holds no conditions.
func (f *HaltFile) Read(ctx context.Context) (cadence.Halt, error) {
	t, err := kvtree.ReadLocked(ctx, f.fs(), f.path(), &kvtree.Options{NoLock: f.NoLock})
	if errors.Is(err, fs.ErrNotExist) {
		return cadence.Halt{}, nil
	}
	if err != nil {
		return cadence.Halt{}, err
	}
	return parseHalt(t, f.path())
}

// Update changes the halt file in place, under an exclusive lock that the programs of the original SCR respect. It creates a
// missing file and keeps unknown keys. If change returns an error, Update returns the error and writes nothing.
//
// A crash during Update may leave a damaged file. The next Update copies it to halt.scr.damaged, logs a warning, and passes
// empty conditions to change.
func (f *HaltFile) Update(ctx context.Context, change func(h *cadence.Halt) error) error {
	if err := f.Create(); err != nil {
		return err
	}
	name := f.path()
	opts := &kvtree.Options{NoLock: f.NoLock}
	var refused error // error about invalid values in a file that is not damaged
	edit := func(t *kvtree.Tree) error {
		h, err := parseHalt(t, name)
		if err != nil {
			refused = err
			return err
		}
		was := h
		if err := change(&h); err != nil {
			return err
		}
		putHalt(t, was, h)
		return nil
	}
	err := kvtree.Update(ctx, f.fs(), name, opts, edit)
	var damage *kvtree.FormatError
	if refused != nil || !errors.As(err, &damage) {
		return err
	}
	f.warn("the halt file is damaged, and its conditions are lost", "file", name, "err", err)
	f.copyDamaged()
	opts.Replace = true
	return kvtree.Update(ctx, f.fs(), name, opts, edit)
}

func parseHalt(t *kvtree.Tree, file string) (cadence.Halt, error) {
	f := record.Fields{Tree: t, File: file}
	number := func(key string) cadence.Field {
		if !t.Has(key) {
			return cadence.Field{}
		}
		v, err := t.Value(key).Int64()
		if err != nil {
			f.Fail(key, err)
		}
		return cadence.Int(v)
	}
	h := cadence.Halt{CheckpointsLeft: number(keyCheckpointsLeft), ExitAfter: number(keyExitAfter), ExitBefore: number(keyExitBefore),
		HaltSeconds: number(keyHaltSeconds), ExitReason: f.Str(keyExitReason)}
	return h, f.Err()
}

// putHalt sets only the fields that have changed. All other fields keep their order and spelling.
func putHalt(t *kvtree.Tree, was, is cadence.Halt) {
	number := func(key string, was, is cadence.Field) {
		switch {
		case was == is:
		case is.Set:
			t.Value(key).SetStr(strconv.FormatInt(is.Value, 10))
		default:
			t.Unset(key)
		}
	}
	number(keyCheckpointsLeft, was.CheckpointsLeft, is.CheckpointsLeft)
	number(keyExitAfter, was.ExitAfter, is.ExitAfter)
	number(keyExitBefore, was.ExitBefore, is.ExitBefore)
	number(keyHaltSeconds, was.HaltSeconds, is.HaltSeconds)
	if was.ExitReason != is.ExitReason {
		if t.Unset(keyExitReason); is.ExitReason != "" {
			t.Value(keyExitReason).SetStr(is.ExitReason)
		}
	}
}
