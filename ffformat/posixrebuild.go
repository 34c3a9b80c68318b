package ffformat

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/base/gf16"
	"blobio/internal/base/vfs"
)

// Missing lists the files of the group's ranks that are not in the directories near this file. lost reports whether the listed
// files must be lost. FTI puts the ranks of a group on different nodes, so if only one rank's files are near, the other files may
// be on other disks.
func (p *PosixFile) Missing() (names []string, lost bool) {
	near := 0
	for i := range p.group {
		g := &p.group[i]
		here := p.find(g.Name) != ""
		if !here {
			names = append(names, g.Name)
		}
		if here || p.find(g.other("Pcof")) != "" || p.find(g.other("RSed")) != "" {
			near++
			lost = lost || !here
		}
	}
	return names, lost || near > 1
}

// find returns the path of a file of the group, or "".
func (p *PosixFile) find(name string) string {
	for _, dir := range p.dirs {
		at := filepath.Join(dir, name)
		if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
			return at
		}
	}
	return ""
}

// sound opens a file of the group if the file is near and matches its metadata.
func (p *PosixFile) sound(ctx context.Context, name string, size int64, sum string) (vfs.File, string, error) {
	at := p.find(name)
	if at == "" {
		return nil, "", fault.In(name, "", ErrMissing, "not there")
	}
	f, err := vfs.OS.Open(at)
	if err != nil {
		return nil, at, err
	}
	have, err := f.Size()
	if err == nil {
		var list []Finding
		list, err = (&PosixFile{Meta: p.Meta, Section: p.Section, Size: size, Sum: sum}).Check(ctx, f, have, at, false)
		for _, x := range list {
			if x.Severity >= Error && err == nil {
				err = x.AsError()
			}
		}
	}
	if err != nil {
		f.Close()
		return nil, at, err
	}
	return f, at, nil
}

// Rebuild writes the file of a rank to dst, an empty file. It uses the partner's copy (level 2), or the files and parity files of
// the group (level 3). It verifies everything that it reads, and then the result. from names the files that it used.
func (p *PosixFile) Rebuild(ctx context.Context, dst vfs.File) (from string, err error) {
	own := &p.group[p.at]
	switch {
	case p.Parity || p.Copy:
		return "", fault.At(p.Name, -1, "", ErrUnsupported, "only the file of a rank can be rebuilt, %s", p.other("Rank"))
	case own.Sum == "":
		return "", fault.At(p.Meta, -1, "["+p.Section+"] ckpt_checksum", ErrMissing, "checksum is absent, so the rebuilt file could not be verified")
	}
	next := &p.group[(p.at+1)%len(p.group)]
	copied, at, cerr := p.sound(ctx, next.other("Pcof"), own.Size, own.Sum)
	if cerr == nil {
		defer copied.Close()
		_, err := io.Copy(io.NewOffsetWriter(dst, 0), &ctxReader{ctx, io.NewSectionReader(copied, 0, own.Size)})
		return "the copy of its partner, " + at, err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	from, perr := p.decode(ctx, dst)
	if perr == nil || ctx.Err() != nil {
		return from, perr
	}
	return "", errors.Join(fmt.Errorf("%s cannot be rebuilt from the copy of its partner: %w", p.Name, cerr), fmt.Errorf("nor from parity: %w", perr))
}

// maxGroup is the maximum number of ranks of a group.
const maxGroup = 1 << 12

// decode rebuilds the file from the other files of the group and as many parity files as files are missing.
func (p *PosixFile) decode(ctx context.Context, dst vfs.File) (string, error) {
	k, own := len(p.group), &p.group[p.at]
	if k > maxGroup {
		return "", fault.At(p.Meta, -1, "sections", fault.ErrTooLarge, "%d ranks in a group, want at most %d", k, maxGroup)
	}
	for i := range p.group {
		if g := &p.group[i]; g.maxSize != own.maxSize || g.Size > own.maxSize {
			return "", fault.At(p.Meta, -1, "["+g.Section+"] ckpt_file_maxs", ErrCorrupt, "%d, for a file of %d bytes; want %d as in [%s]", g.maxSize, g.Size, own.maxSize, own.Section)
		}
	}
	s, err := p.survivors(ctx)
	defer s.close()
	if err != nil {
		return "", err
	}
	if err := s.solve(k, p.at); err != nil {
		return "", err
	}
	sum, buf := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); at < own.Size; at += int64(len(sum)) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := s.sum(sum, buf, at); err != nil {
			return "", err
		}
		if _, err := dst.WriteAt(sum[:min(int64(len(sum)), own.Size-at)], at); err != nil {
			return "", err
		}
	}
	err = own.Complete(ctx, dst)
	return fmt.Sprintf("parity (RSed) of %d ranks and the files of %d others of its group", len(s.parity), k-len(s.lost)), err
}

// survivors are the files from which a lost file of the group is rebuilt.
type survivors struct {
	files        map[int]vfs.File     // files by rank in the group; a parity file has the key k + its rank
	lost, parity []int                // ranks
	factor       map[int]*gf16.Factor // factor of each file: a word of the lost file is the sum of the files' words times their factors
}

// survivors opens the sound files of the group, and one sound parity file for each lost file.
func (p *PosixFile) survivors(ctx context.Context) (*survivors, error) {
	s := &survivors{files: map[int]vfs.File{}, factor: map[int]*gf16.Factor{}}
	var why []error
	take := func(i int, name string, size int64, sum string) bool {
		f, _, err := p.sound(ctx, name, size, sum)
		if err != nil {
			why = append(why, err)
			return false
		}
		s.files[i] = f
		return true
	}
	for j := range p.group {
		if g := &p.group[j]; j == p.at || !take(j, g.Name, g.Size, g.Sum) {
			s.lost = append(s.lost, j)
		}
	}
	for i := range p.group {
		if g := &p.group[i]; len(s.parity) < len(s.lost) && take(len(p.group)+i, g.other("RSed"), g.maxSize, g.paritySum) {
			s.parity = append(s.parity, i)
		}
	}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	if len(s.parity) < len(s.lost) {
		return s, errors.Join(append(why, fault.In(p.Name, "parity", ErrMissing, "%d of %d files of the group are lost, but only %d parity files exist", len(s.lost), len(p.group), len(s.parity)))...)
	}
	return s, nil
}

func (s *survivors) close() {
	for _, f := range s.files {
		f.Close()
	}
}

// solve finds the factors for a rank of a group of k ranks.
func (s *survivors) solve(k, rank int) error {
	rows, err := gf16.Decode(k, s.lost, s.parity)
	if err != nil {
		return err
	}
	for i, x := range rows[slices.Index(s.lost, rank)] {
		s.factor[i] = gf16.NewFactor(x)
	}
	return nil
}

// sum computes the words of the rebuilt file from byte at on, and stores them in to. buf is scratch memory of the same length.
func (s *survivors) sum(to, buf []byte, at int64) error {
	clear(to)
	for i, f := range s.files {
		clear(buf)
		if _, err := f.ReadAt(buf, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.factor[i].AddTo(to, buf)
	}
	return nil
}

// Complete verifies a file that was rebuilt from parity. If FTI wrote only half of the last parity word, Complete corrects the last
// byte.
func (p *PosixFile) Complete(ctx context.Context, f vfs.File) error {
	end := p.Size
	if p.maxSize%2 == 1 && p.Size == p.maxSize {
		end--
	}
	h := md5.New()
	if _, err := io.Copy(h, &ctxReader{ctx, io.NewSectionReader(f, 0, end)}); err != nil {
		return err
	}
	last, ok := lastByte(h, p.Sum, end < p.Size)
	if !ok {
		return fault.At(p.Name, -1, "MD5 of the file", ErrChecksum, "not %s as in %s", p.Sum, p.Meta)
	}
	if last == nil {
		return nil
	}
	_, err := f.WriteAt(last, end)
	return err
}

// lastByte compares the MD5 of a file with sum. If lacks is true, the last byte of the file is missing, and lastByte tries all
// values of this byte.
func lastByte(h hash.Hash, sum string, lacks bool) (last []byte, ok bool) {
	if !lacks {
		return nil, hex.EncodeToString(h.Sum(nil)) == sum
	}
	for b := range 256 {
		g, err := h.(hash.Cloner).Clone()
		if err != nil {
			return nil, false
		}
		g.Write([]byte{byte(b)})
		if hex.EncodeToString(g.Sum(nil)) == sum {
			return []byte{byte(b)}, true
		}
	}
	return nil, false
}
