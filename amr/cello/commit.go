package cello

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/internal/amr/cellodir"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

func (j *job) path(name string) string { return filepath.Join(j.tmp, name) }

// begin takes the lease of the directory and makes the temporary directory. If a dead writer left a temporary directory, begin
// replaces it. begin runs on rank 0. If begin fails, only the lease remains.
func (j *job) begin(ctx context.Context) (err error) {
	if j.lease, err = durable.Acquire(ctx, j.fs, j.dir, durable.LeaseOptions{}); err != nil {
		return err
	}
	switch _, err := j.fs.Stat(j.dir); {
	case err == nil:
		return fmt.Errorf("%s: %w", j.dir, ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err = j.fs.Mkdir(j.tmp)
	if errors.Is(err, fs.ErrExist) {
		if err = cellodir.RemovePartial(j.fs, j.tmp); err == nil {
			err = j.fs.Mkdir(j.tmp)
		}
	}
	if err != nil {
		return err
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	j.id = hex.EncodeToString(id[:])
	if err := vfs.WriteFile(j.fs, j.path(cellodir.Lock), []byte(j.id+"\n")); err != nil {
		_ = cellodir.RemovePartial(j.fs, j.tmp)
		return err
	}
	return j.lease.Settle() // if a former writer still has files open, remove their names
}

// abandon removes the written files, unless another writer has taken over the directory. abandon runs on rank 0, because rank 0
// learns of a failure first.
func (j *job) abandon() {
	if j.c.Rank() != 0 {
		return
	}
	if j.owned() == nil {
		_ = cellodir.RemovePartial(j.fs, j.tmp) // the first error is reported; the next writer removes the rest
	}
}

func (j *job) release() {
	_ = j.lease.Release() // if the lease cannot be removed, it ends with the process
}

// owned returns an error unless this writer still owns the name and the temporary directory.
func (j *job) owned() error {
	if err := j.lease.Check(); err != nil {
		return err
	}
	b, err := vfs.ReadFile(j.fs, j.path(cellodir.Lock), 1024)
	if err == nil && strings.TrimSpace(string(b)) == j.id {
		return nil
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: another program is writing the checkpoint: %w", j.tmp, ErrInUse)
	}
	return err
}

// commit writes the common lists and the manifest, and renames the directory to its final name. All other files must be durable
// before. commit runs on rank 0.
func (j *job) commit(_ context.Context, all [][]byte) error {
	m := &manifest{ID: j.id, Dump: j.o.dump(), Unverified: j.m.Unverified, Costs: j.costs, Reversed: j.o.ForEnzoE}
	for i := range j.cols {
		m.Datasets = append(m.Datasets, j.cols[i].name)
		// A copy of scrambled cells is scrambled, too.
		m.Broken = m.Broken || j.cols[i].field != nil && j.cols[i].field.Scrambled
	}
	for _, b := range all { // files are in rank order
		var l []manifestFile
		if err := json.Unmarshal(b, &l); err != nil {
			return err
		}
		m.Files = append(m.Files, l...)
	}
	if len(m.Files) != len(j.names) {
		return fault.Usage("only %d of %d files were written", len(m.Files), len(j.names))
	}
	if j.yt != "" {
		if err := j.ytLists(); err != nil {
			return err
		}
	} else {
		list := cellodir.EncodeFileList(j.names)
		m.List = subfile.CRC(crc32.ChecksumIEEE(list))
		if err := vfs.WriteFile(j.fs, j.path(cellodir.FileList), list); err != nil {
			return err
		}
		b, err := m.encode()
		if err != nil {
			return err
		}
		if err := vfs.WriteFile(j.fs, j.path(cellodir.Manifest), b); err != nil {
			return err
		}
	}
	if err := j.owned(); err != nil {
		return err
	}
	// Remove the lock only when all names are durable. Then a directory without a lock is whole, whatever its name.
	if err := j.fs.SyncDir(j.tmp); err != nil {
		return err
	}
	if err := j.fs.Remove(j.path(cellodir.Lock)); err != nil {
		return err
	}
	err := j.fs.SyncDir(j.tmp)
	if err == nil {
		err = durable.Rename(j.fs, j.tmp, j.dir)
	}
	if err != nil {
		_ = cellodir.RemovePartial(j.fs, j.tmp) // abandon would keep a directory that has no lock; after an UnsureError the directory may be gone
	}
	return err
}
