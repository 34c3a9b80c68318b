package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// FileName is the name of the transfer file in the control directory of a node.
const FileName = "transfer.scrinfo"

// Command is a command from the library to the transfer process.
type Command string

// Commands. If there is no command, the process behaves as for CommandStop.
const (
	CommandRun  Command = "RUN"
	CommandStop Command = "STOP"
	CommandExit Command = "EXIT"
)

// State is the state of the transfer process of a node.
type State string

// States. If there is no state, the process has never run.
const (
	StateStopped State = "STOPPED"
	StateRunning State = "RUNNING"
	StateExiting State = "EXITING"
)

// Item is an entry of a transfer file. It describes one file to copy.
type Item struct {
	Src     string // absolute path
	Dst     string // absolute path
	Size    int64  // size of the source in bytes
	Written int64  // number of bytes copied; equals Size only when the copy is durable under its final name
	// The original SCR does not have the following fields and ignores them.
	CRC    uint32 // CRC-32 of the data: the expected value, and after the copy the actual value
	HasCRC bool
	// Out holds the ranges of containers that get the bytes, as in Job, unless it is nil. Then Dst is the first container. Transfer
	// processes of the original SCR do not know Out.
	Out   []Segment
	Meta  bool   // copy permissions and times
	Error string // why the file could not be copied
}

// Whole reports whether the transfer file shows that the copy is done. For an empty source it is always true. The transfer file
// cannot show whether an empty file was copied.
func (i Item) Whole() bool { return i.Written == i.Size }

// File is the content of a transfer file.
type File struct {
	Items   []Item
	Percent float64 // percent of one core's time; 0: no limit
	BW      float64 // in bytes/s; 0: no limit
	Command Command
	State   State
	Done    bool // all copies are done
	Failed  bool // not in the original SCR: all copies have ended, and some failed
	// Tree is the parsed tree. It keeps unknown keys.
	Tree *kvtree.Tree
}

// Put adds an item. If there is an item with the same source, Put replaces it.
func (f *File) Put(i Item) {
	for n := range f.Items {
		if f.Items[n].Src == i.Src {
			f.Items[n] = i
			return
		}
	}
	f.Items = append(f.Items, i)
}

// Keys of the tree.
const (
	keyFiles   = "FILES"
	keyDst     = "DESTINATION"
	keySize    = "SIZE"
	keyWritten = "WRITTEN"
	keyCRC     = "CRC"
	keyMeta    = "META"
	keySeg     = "SEG"
	keyFile    = "FILE"
	keyOffset  = "OFFSET"
	keyLength  = "LENGTH"
	keyError   = "ERROR"
	keyPercent = "PERCENT"
	keyBW      = "BW"
	keyCommand = "COMMAND"
	keyState   = "STATE"
	keyFlag    = "FLAG"
	valDone    = "DONE"
	valFailed  = "FAILED"
)

// ReadFile reads a transfer file under a shared lock. If the file is missing, ReadFile returns an empty File.
func ReadFile(ctx context.Context, fsys vfs.FS, name string, noLock bool) (*File, error) {
	t, err := kvtree.ReadLocked(ctx, fsys, name, &kvtree.Options{NoLock: noLock})
	if errors.Is(err, fs.ErrNotExist) {
		t, err = kvtree.New(), nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(t, name)
}

// UpdateFile changes a transfer file in place, under an exclusive lock that the programs of the original SCR respect. It creates a
// missing file. If change returns an error, nothing is written. If a crash during an earlier change has damaged the file, UpdateFile
// treats the file as empty, because the library will request its copies again.
func UpdateFile(ctx context.Context, fsys vfs.FS, name string, noLock bool, change func(f *File) error) error {
	return kvtree.Update(ctx, fsys, name, &kvtree.Options{NoLock: noLock, Replace: true, Perm: 0o600}, func(t *kvtree.Tree) error {
		f, err := Parse(t, name)
		if err != nil {
			return err
		}
		if err := change(f); err != nil {
			return err
		}
		return f.fill(t)
	})
}

// Parse parses the tree of a transfer file and keeps the tree in the File. Errors name the file name.
func Parse(t *kvtree.Tree, name string) (*File, error) {
	f := &File{Tree: t}
	for src, sub := range t.Get(keyFiles).All() {
		i, err := parseItem(src, &record.Fields{Tree: sub, File: name, Path: keyFiles + "/" + src})
		if err != nil {
			return nil, err
		}
		f.Items = append(f.Items, i)
	}
	slices.Reverse(f.Items) // the key that is set last becomes the head of the list
	in := record.Fields{Tree: t, File: name}
	for key, v := range map[string]*float64{keyPercent: &f.Percent, keyBW: &f.BW} {
		x, err := t.Value(key).Double()
		switch {
		case errors.Is(err, kvtree.ErrMissing):
		case err != nil:
			in.Fail(key, err)
		case !capOK(x):
			in.Fail(key, fmt.Errorf("%v, want a finite number of at least 0", x))
		}
		*v = x
	}
	f.Command = Command(word(&in, keyCommand, string(CommandRun), string(CommandStop), string(CommandExit)))
	f.State = State(word(&in, keyState, string(StateStopped), string(StateRunning), string(StateExiting)))
	f.Done = t.GetKV(keyFlag, valDone) != nil
	f.Failed = t.GetKV(keyFlag, valFailed) != nil
	if err := in.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// word returns the only value of a key, or "" if there is none. The value must be one of words.
func word(f *record.Fields, key string, words ...string) string {
	if f.Tree.Get(key).Len() == 0 {
		return ""
	}
	v := f.Str(key)
	if !slices.Contains(words, v) {
		f.Fail(key, fmt.Errorf("%q, want one of %s", v, strings.Join(words, ", ")))
	}
	return v
}

// wanted returns a number. It must exist.
func wanted(f *record.Fields, key string) int64 {
	if !f.Tree.Has(key) {
		f.Fail(key, kvtree.ErrMissing)
	}
	return f.Int64(key, 0)
}

// absolute returns a path. It must exist and be absolute.
func absolute(f *record.Fields, key string) string {
	name := f.Str(key)
	switch {
	case !f.Tree.Has(key):
		f.Fail(key, kvtree.ErrMissing)
	case !filepath.IsAbs(name):
		f.Fail(key, fmt.Errorf("%q is not absolute", name))
	}
	return name
}

func parseItem(src string, f *record.Fields) (Item, error) {
	if !filepath.IsAbs(src) {
		f.Fail("", errors.New("path of a file is not absolute"))
	}
	i := Item{Src: src, Dst: absolute(f, keyDst), Size: wanted(f, keySize), Written: f.Int64(keyWritten, 0)}
	if i.Written > i.Size {
		f.Fail(keyWritten, fmt.Errorf("%d, want at most the size of %d bytes", i.Written, i.Size))
	}
	i.CRC, i.HasCRC = f.CRC(keyCRC)
	i.Meta = f.Tree.GetKV(keyMeta, "1") != nil
	i.Error, _ = f.Tree.Value(keyError).Str()
	if err := f.Err(); err != nil {
		return i, err
	}
	var err error
	i.Out, err = parseSegments(record.Fields{Tree: f.Tree.Get(keySeg), File: f.File, Path: f.Path + "/" + keySeg}, i.Size)
	return i, err
}

// parseSegments parses the container ranges of a file, in order. It returns nil if there are none.
func parseSegments(f record.Fields, total int64) (out []Segment, err error) {
	n := f.Tree.Len()
	if n == 0 {
		return nil, nil
	}
	if n > maxSegments {
		return nil, fault.In(f.File, f.Path, fault.ErrCorrupt, "%d segments, want at most %d", n, maxSegments)
	}
	left := total
	for k := range n {
		key := strconv.Itoa(k)
		x := record.Fields{Tree: f.Tree.Get(key), File: f.File, Path: f.Path + "/" + key}
		s := Segment{absolute(&x, keyFile), wanted(&x, keyOffset), wanted(&x, keyLength)}
		if err := x.Err(); err != nil {
			return nil, err
		}
		if s.Length > left || s.Offset > math.MaxInt64-s.Length {
			return nil, fault.In(f.File, x.Path, fault.ErrCorrupt, "segment of %d bytes at offset %d does not fit a file of %d bytes", s.Length, s.Offset, total)
		}
		left -= s.Length
		out = append(out, s)
	}
	if left != 0 {
		return nil, fault.In(f.File, f.Path, fault.ErrCorrupt, "segments have %d bytes, want %d", total-left, total)
	}
	return out, nil
}

// fillSegments is the inverse of parseSegments.
func fillSegments(t *kvtree.Tree, out []Segment) {
	if have, err := parseSegments(record.Fields{Tree: t.Get(keySeg)}, lengths(out)); err == nil && slices.Equal(have, out) {
		return
	}
	t.Unset(keySeg)
	for n := len(out) - 1; n >= 0; n-- { // the segment that is set last becomes the head of the list
		x := t.Touch(keySeg, strconv.Itoa(n))
		set(x, keyLength, strconv.FormatInt(out[n].Length, 10))
		set(x, keyOffset, strconv.FormatInt(out[n].Offset, 10))
		set(x, keyFile, out[n].File)
	}
}

func lengths(segs []Segment) (n int64) {
	for _, s := range segs {
		n += s.Length
	}
	return n
}

// fill writes the fields of f into its tree.
func (f *File) fill(t *kvtree.Tree) error {
	known := map[string]bool{}
	for _, i := range f.Items {
		if !filepath.IsAbs(i.Src) || !filepath.IsAbs(i.Dst) || i.Size < 0 || i.Written < 0 || i.Written > i.Size {
			return fault.Usage("transfer file: %q to %q, %d of %d bytes written: want absolute paths, and numbers from 0 to the size", i.Src, i.Dst, i.Written, i.Size)
		}
		if i.Out != nil && lengths(i.Out) != i.Size {
			return fault.Usage("transfer file: %q: segments have %d bytes, want %d", i.Src, lengths(i.Out), i.Size)
		}
		if known[i.Src] {
			return fault.Usage("transfer file: %s is listed twice", i.Src)
		}
		known[i.Src] = true
	}
	files := t.Get(keyFiles)
	if files == nil && len(f.Items) > 0 {
		files = t.Touch(keyFiles)
	}
	for _, src := range files.Keys() {
		if !known[src] {
			files.Unset(src)
		}
	}
	for _, i := range f.Items {
		i.fill(files.Touch(i.Src))
	}
	set(t, keyCommand, string(f.Command))
	set(t, keyState, string(f.State))
	setDouble(t, keyPercent, f.Percent)
	setDouble(t, keyBW, f.BW)
	flag(t, keyFlag, valDone, f.Done)
	flag(t, keyFlag, valFailed, f.Failed)
	return nil
}

func (i Item) fill(t *kvtree.Tree) {
	set(t, keyDst, i.Dst)
	set(t, keySize, strconv.FormatInt(i.Size, 10))
	set(t, keyWritten, strconv.FormatInt(i.Written, 10))
	if i.HasCRC {
		if have, err := t.Value(keyCRC).CRC32(); err != nil || have != i.CRC {
			t.Value(keyCRC).SetCRC32(i.CRC)
		}
	} else {
		t.Unset(keyCRC)
	}
	fillSegments(t, i.Out)
	flag(t, keyMeta, "1", i.Meta)
	if i.Error == "" {
		t.Unset(keyError)
	} else {
		set(t, keyError, strings.ReplaceAll(i.Error, "\x00", ""))
	}
}

// set makes v the only value of a key. If v already is the only value, set changes nothing, so that the order of the tree is kept.
func set(t *kvtree.Tree, key, v string) {
	if v == "" {
		t.Unset(key)
	} else if have, err := t.Value(key).Str(); err != nil || have != v {
		t.Value(key).SetStr(v)
	}
}

func setDouble(t *kvtree.Tree, key string, v float64) {
	have, err := t.Value(key).Double()
	if err != nil && v == 0 || err == nil && have == v {
		return
	}
	t.Value(key).SetDouble(v)
}

func flag(t *kvtree.Tree, key, val string, on bool) {
	switch {
	case on && t.GetKV(key, val) == nil:
		t.SetKV(key, val)
	case !on:
		t.UnsetKV(key, val)
	}
}
