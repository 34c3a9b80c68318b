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
	"blobio/scr/kvtree"
)

// FileName is the name of a transfer file, in the control directory of a node.
const FileName = "transfer.scrinfo"

// Command is what the library wants of the process that transfers.
type Command string

// The commands. No command is CommandStop.
const (
	CommandRun  Command = "RUN"
	CommandStop Command = "STOP"
	CommandExit Command = "EXIT"
)

// State is what the transfer process of a node does.
type State string

// The states. No state: it never ran.
const (
	StateStopped State = "STOPPED"
	StateRunning State = "RUNNING"
	StateExiting State = "EXITING"
)

// Item is a file in a transfer file.
type Item struct {
	Src     string // absolute
	Dst     string // absolute
	Size    int64  // bytes of the source
	Written int64  // bytes that were copied; Size when the copy is durable under its name
	// Ours, which others pass over:
	CRC    uint32 // CRC-32 of the data: expected, and what was found once the copy is done
	HasCRC bool
	// Out, unless nil, are the places in containers that get the bytes, as in Job; Dst is then the first of the containers. A
	// process of the reference does not know of them.
	Out   []Segment
	Meta  bool   // permissions and times too
	Error string // why it could not be copied
}

// Whole reports whether the copy is done, as far as the file shows it; for a file without bytes it does not.
func (i Item) Whole() bool { return i.Written == i.Size }

// File is the content of a transfer file.
type File struct {
	Items   []Item
	Percent float64 // of the time of one core; 0: no limit
	BW      float64 // bytes/s; 0: no limit
	Command Command
	State   State
	Done    bool // all copies are done
	Failed  bool // ours: nothing more can be done, some copies failed
	// Tree is what the file was read from; what is not known here stays in it.
	Tree *kvtree.Tree
}

// Put adds a file, or replaces what is said of the copy of its source.
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

// ReadFile reads a transfer file under a shared lock. One that is not there is empty.
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

// UpdateFile has a transfer file changed, in place and under an exclusive lock that the programs of the reference
// honour; it is made if it is not there. If change returns an error, nothing is written. A file that a crash in the
// middle of a change left damaged is taken as an empty one: what it said is asked for again.
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

// Parse reads the tree of a transfer file, which stays with the File. name is for errors.
func Parse(t *kvtree.Tree, name string) (*File, error) {
	f := &File{Tree: t}
	fail := func(field string, class error, format string, args ...any) (*File, error) {
		return nil, fault.In(name, field, class, format, args...)
	}
	for src, sub := range t.Get(keyFiles).All() {
		i, field, err := parseItem(src, sub)
		if err != nil {
			return fail(keyFiles+"/"+src+"/"+field, classOf(err), "%v", err)
		}
		f.Items = append(f.Items, i)
	}
	// What is set becomes the head of the list, so what was added first is its last.
	for i, k := 0, len(f.Items)-1; i < k; i, k = i+1, k-1 {
		f.Items[i], f.Items[k] = f.Items[k], f.Items[i]
	}
	for key, v := range map[string]*float64{keyPercent: &f.Percent, keyBW: &f.BW} {
		x, err := t.Value(key).Double()
		if errors.Is(err, kvtree.ErrMissing) {
			continue
		}
		if err == nil && !capOK(x) {
			err = fmt.Errorf("%w: %v", fault.ErrCorrupt, x)
		}
		if err != nil {
			return fail(key, classOf(err), "%v", err)
		}
		*v = x
	}
	cmd, err := word(t, keyCommand, string(CommandRun), string(CommandStop), string(CommandExit))
	if err != nil {
		return fail(keyCommand, fault.ErrCorrupt, "%v", err)
	}
	state, err := word(t, keyState, string(StateStopped), string(StateRunning), string(StateExiting))
	if err != nil {
		return fail(keyState, fault.ErrCorrupt, "%v", err)
	}
	f.Command, f.State = Command(cmd), State(state)
	f.Done = t.GetKV(keyFlag, valDone) != nil
	f.Failed = t.GetKV(keyFlag, valFailed) != nil
	return f, nil
}

func classOf(err error) error {
	for _, class := range []error{kvtree.ErrMissing, kvtree.ErrRange, fault.ErrUsage} {
		if errors.Is(err, class) {
			return class
		}
	}
	return fault.ErrCorrupt
}

// word returns the only value of a key, which must be one of those; "" if there is none.
func word(t *kvtree.Tree, key string, words ...string) (string, error) {
	if t.Get(key).Len() == 0 {
		return "", nil
	}
	v, err := t.Value(key).Str()
	if err != nil {
		return "", err
	}
	for _, w := range words {
		if v == w {
			return v, nil
		}
	}
	return "", fmt.Errorf("%w: %q, want one of %s", fault.ErrCorrupt, v, strings.Join(words, ", "))
}

func parseItem(src string, t *kvtree.Tree) (i Item, field string, err error) {
	i.Src = src
	if !filepath.IsAbs(src) {
		return i, "", fmt.Errorf("%w: the name is not absolute", fault.ErrCorrupt)
	}
	if i.Dst, err = t.Value(keyDst).Str(); err != nil {
		return i, keyDst, err
	}
	if !filepath.IsAbs(i.Dst) {
		return i, keyDst, fmt.Errorf("%w: %q is not absolute", fault.ErrCorrupt, i.Dst)
	}
	if i.Size, err = size(t, keySize); err != nil {
		return i, keySize, err
	}
	if i.Written, err = size(t, keyWritten); errors.Is(err, kvtree.ErrMissing) {
		i.Written = 0
	} else if err != nil {
		return i, keyWritten, err
	} else if i.Written > i.Size {
		return i, keyWritten, fmt.Errorf("%w: %d of %d bytes", fault.ErrCorrupt, i.Written, i.Size)
	}
	if i.CRC, err = t.Value(keyCRC).CRC32(); err == nil {
		i.HasCRC = true
	} else if !errors.Is(err, kvtree.ErrMissing) {
		return i, keyCRC, err
	}
	if i.Out, field, err = parseSegments(t.Get(keySeg), i.Size); err != nil {
		return i, field, err
	}
	i.Meta = t.GetKV(keyMeta, "1") != nil
	i.Error, _ = t.Value(keyError).Str()
	return i, "", nil
}

// parseSegments reads the places of the bytes of a file in containers, in order; nil if there is none.
func parseSegments(t *kvtree.Tree, total int64) (out []Segment, field string, err error) {
	if t.Len() == 0 {
		return nil, "", nil
	}
	if t.Len() > maxSegments {
		return nil, keySeg, fmt.Errorf("%w: %d places", fault.ErrCorrupt, t.Len())
	}
	sum := int64(0)
	for n := range t.Len() {
		x := t.Get(strconv.Itoa(n))
		at := keySeg + "/" + strconv.Itoa(n)
		s := Segment{}
		if s.File, err = x.Value(keyFile).Str(); err != nil {
			return nil, at + "/" + keyFile, err
		}
		if !filepath.IsAbs(s.File) {
			return nil, at + "/" + keyFile, fmt.Errorf("%w: %q is not absolute", fault.ErrCorrupt, s.File)
		}
		if s.Offset, err = size(x, keyOffset); err != nil {
			return nil, at + "/" + keyOffset, err
		}
		if s.Length, err = size(x, keyLength); err != nil {
			return nil, at + "/" + keyLength, err
		}
		if s.Length > total-sum || s.Offset > math.MaxInt64-s.Length {
			return nil, at, fmt.Errorf("%w: %d bytes at %d, of a file of %d", fault.ErrCorrupt, s.Length, s.Offset, total)
		}
		sum += s.Length
		out = append(out, s)
	}
	if sum != total {
		return nil, keySeg, fmt.Errorf("%w: places for %d bytes of %d", fault.ErrCorrupt, sum, total)
	}
	return out, "", nil
}

// fillSegments is the reverse.
func fillSegments(t *kvtree.Tree, out []Segment) {
	if have, _, err := parseSegments(t.Get(keySeg), lengths(out)); err == nil && slices.Equal(have, out) {
		return
	}
	t.Unset(keySeg)
	for n := len(out) - 1; n >= 0; n-- { // the head of a list is what was set last
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

func size(t *kvtree.Tree, key string) (int64, error) {
	n, err := t.Value(key).Uint64()
	if err == nil && n > math.MaxInt64 {
		err = fmt.Errorf("%w: %d", kvtree.ErrRange, n)
	}
	return int64(n), err
}

// fill puts what f says into the tree it was parsed from.
func (f *File) fill(t *kvtree.Tree) error {
	known := map[string]bool{}
	for _, i := range f.Items {
		if !filepath.IsAbs(i.Src) || !filepath.IsAbs(i.Dst) || i.Size < 0 || i.Written < 0 || i.Written > i.Size {
			return fault.Usage("%q to %q, %d of %d bytes, in a transfer file", i.Src, i.Dst, i.Written, i.Size)
		}
		if i.Out != nil && lengths(i.Out) != i.Size {
			return fault.Usage("%q: places for %d bytes of %d, in a transfer file", i.Src, lengths(i.Out), i.Size)
		}
		if known[i.Src] {
			return fault.Usage("%s is in a transfer file twice", i.Src)
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

// set makes v the only value of a key, and leaves the tree alone, order and all, if it is that already.
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
