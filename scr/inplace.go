package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/transfer"
)

// inPlace is a checkpoint that the application reads directly in the prefix directory.
type inPlace struct {
	m   *prefixdir.Map
	dir prefixdir.Place
}

// routeInPlace returns the path of a file. If the file is stored in containers, it makes a copy and returns the path of the copy.
// The bytes were verified when the checkpoint was offered.
func (fe *fetcher) routeInPlace(r *offer, abs string) (string, error) {
	p := r.inPlace
	rel, err := fe.relative(abs)
	if err != nil {
		return "", err
	}
	_, f, ok := p.m.Owner(rel)
	if !ok {
		return "", fmt.Errorf("checkpoint %s has no file %s: %w", r.Name, abs, ErrMissing)
	}
	if f.Segments == nil {
		at := path.Join(p.dir.Data, f.Path)
		if _, err := fe.cfg.FS.Stat(at); err != nil {
			return "", fmt.Errorf("checkpoint %s: %w", r.Name, err)
		}
		return at, nil
	}
	at := path.Join(fe.scratch.dir(), rel)
	e, err := transfer.New(transfer.Options{FS: fe.cfg.FS, DstFS: fe.fs, Files: 1})
	if err != nil {
		return "", err
	}
	if _, err := e.Copy(context.Background(), fetchJob(p.dir, f, at)); err != nil {
		return "", fmt.Errorf("checkpoint %s: %w", r.Name, err)
	}
	return fe.fs.Real(at), nil
}

// fetchJob returns the job that copies a file of the prefix directory to a path.
func fetchJob(at prefixdir.Place, f prefixdir.File, to string) transfer.Job {
	j := transfer.Job{Src: path.Join(at.Data, filepath.FromSlash(f.Path)), Dst: to, Size: -1, CRC: f.CRC, HasCRC: f.HasCRC}
	if f.HasSize {
		j.Size = f.Size
	}
	for _, seg := range f.Segments {
		j.In = append(j.In, transfer.Segment{File: path.Join(at.Data, seg.File), Offset: seg.Offset, Length: seg.Length})
	}
	return j
}

// verifyInPlace compares the files of a dataset in the prefix directory with their checksums. The ranks share the work.
func (fe *fetcher) verifyInPlace(ctx context.Context, p *inPlace) error {
	e, err := transfer.New(transfer.Options{FS: fe.cfg.FS, DstFS: fe.fs, Files: 1})
	if err := fe.agree(ctx, err); err != nil {
		return err
	}
	n := 0
	var bad error
	for _, r := range sortedRanks(p.m) {
		for _, f := range p.m.Files[r] {
			if f.NoFetch {
				continue
			}
			if n++; n%fe.c.Size() != fe.c.Rank() || bad != nil {
				continue
			}
			if err := ctx.Err(); err != nil {
				bad = err
				continue
			}
			if f.Segments != nil {
				tmp := path.Join(fe.scratch.dir(), "verify")
				_, bad = e.Copy(ctx, fetchJob(p.dir, f, tmp))
				_ = fe.fs.Remove(tmp)
				continue
			}
			crc, size, err := vfs.SumFile(ctx, fe.cfg.FS, path.Join(p.dir.Data, f.Path))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				bad = fmt.Errorf("%s: %w", f.Path, ErrMissing)
			case err != nil:
				bad = err
			case f.HasSize && size != f.Size:
				bad = fmt.Errorf("%s: %w: size %d, want %d as in the map", f.Path, ErrCorrupt, size, f.Size)
			case f.HasCRC && crc != f.CRC:
				bad = fmt.Errorf("%s: %w: CRC-32 %#x, want %#x as in the map", f.Path, ErrChecksum, crc, f.CRC)
			}
		}
	}
	return fe.agree(ctx, bad)
}

func sortedRanks(m *prefixdir.Map) []int {
	var out []int
	for r := range m.Files {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// scratch is the folder of each rank in the control directory into which a restart in place copies files from containers.
type scratch struct{ *job }

// The names of these folders begin with scratchPrefix.
const scratchPrefix = "restart."

func (sc *scratch) dir() string {
	return path.Join(sc.p.job.Control, scratchPrefix+strconv.Itoa(sc.c.Rank()))
}

func (sc *scratch) clear() { sc.remove(sc.dir()) }

func (sc *scratch) remove(dir string) {
	if err := vfs.RemoveAll(sc.fs, dir); err != nil {
		sc.log.Warn("scr: delete", "folder", dir, "err", err)
	}
}

// clearLeft removes folders that killed runs left on this node. The first rank of the node does it.
func (sc *scratch) clearLeft() {
	list, err := sc.fs.ReadDir(sc.p.job.Control)
	if err != nil {
		return // other code will report this error
	}
	for _, e := range list {
		if rank, ok := strings.CutPrefix(e.Name(), scratchPrefix); ok && e.IsDir() {
			if _, err := strconv.ParseUint(rank, 10, 31); err == nil {
				sc.remove(path.Join(sc.p.job.Control, e.Name()))
			}
		}
	}
}
