package pio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"blobio/blob"
	"blobio/subfile"
)

// A stamp tells one committed state of a name from another; the root alone has it. "": blobs without a manifest.
type stamp string

// stampOf is that of blobs with a manifest. It stays the same when the log of a dead writer is folded into the manifest.
func stampOf(m *subfile.Manifest) stamp {
	if m == nil {
		return ""
	}
	return stamp(fmt.Sprint(m.ID, m.Records, m.Atts))
}

// stampOfFile is that of an ordinary file.
func stampOfFile(info fs.FileInfo) stamp {
	return stamp(fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
}

// read returns the stamp of what is there now.
func (b *base) read() (stamp, error) {
	if b.layout == blob.Canonical {
		info, err := os.Stat(b.path)
		if err != nil {
			return "", err
		}
		return stampOfFile(info), nil
	}
	state, err := subfile.ReadState(nil, b.path)
	if errors.Is(err, blob.ErrNotCommitted) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return stampOf(state.Manifest), nil
}

// unchanged is an error if what is there is not what the base was made of: written over, it would be lost. With adds an append has begun, which gives blobs of
// another program a manifest: of those nothing is known. Collective.
func (f *File) unchanged(ctx context.Context, b *base, adds bool) error {
	var err error
	if f.s.c.Rank() == f.s.root() && !(adds && b.stamp == "") {
		var now stamp
		if now, err = b.read(); err == nil && now != b.stamp {
			err = failed(Code(syscall.ESTALE), "%s: another writer has changed it since it was opened, or committed, here: nothing more is written", b.path)
		}
	}
	return agree(ctx, f.s.c, err)
}
