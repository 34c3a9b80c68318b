package ffformat

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"blobio/internal/base/fault"
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

// FTI's level 3 computes with 16-bit little-endian words, and writes one parity file for each of the k ranks of a group. A word
// of parity file i is the sum over j of 1/(i xor (k+j)) times the word of rank j, in the field of 2^16 elements with the
// polynomial 0x1100b. Shorter files are padded with zeros to the size of the largest.
const (
	fieldPoly  = 0x1100b
	fieldOrder = 1<<16 - 1
	maxGroup   = 1 << 12
)

var field = sync.OnceValue(func() (t struct{ exp, log []uint16 }) {
	t.exp, t.log = make([]uint16, 2*fieldOrder), make([]uint16, 1<<16)
	x := 1
	for i := range fieldOrder {
		t.exp[i], t.exp[i+fieldOrder], t.log[x] = uint16(x), uint16(x), uint16(i)
		if x <<= 1; x > fieldOrder {
			x ^= fieldPoly
		}
	}
	return t
})

func mulField(a, b uint16) uint16 {
	if a == 0 || b == 0 {
		return 0
	}
	t := field()
	return t.exp[int(t.log[a])+int(t.log[b])]
}

func invField(a uint16) uint16 {
	t := field()
	return t.exp[fieldOrder-int(t.log[a])]
}

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
	end := own.Size
	if own.maxSize%2 == 1 && own.Size == own.maxSize { // FTI writes only half of the last parity word
		end--
	}
	h := md5.New()
	sum, buf := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); at < end; at += int64(len(sum)) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := s.sum(sum, buf, at); err != nil {
			return "", err
		}
		b := sum[:min(int64(len(sum)), end-at)]
		h.Write(b)
		if _, err := dst.WriteAt(b, at); err != nil {
			return "", err
		}
	}
	last, ok := lastByte(h, own.Sum, end < own.Size)
	if !ok {
		return "", fault.At(p.Name, -1, "MD5 of the file", ErrChecksum, "not %s as in %s", own.Sum, own.Meta)
	}
	if last != nil {
		_, err = dst.WriteAt(last, end)
	}
	return fmt.Sprintf("parity (RSed) of %d ranks and the files of %d others of its group", len(s.parity), k-len(s.lost)), err
}

// survivors are the files from which a lost file of the group is rebuilt.
type survivors struct {
	files        map[int]vfs.File // files by rank in the group; a parity file has the key k + its rank
	lost, parity []int            // ranks
	factor       map[int]uint16   // factor of each file: a word of the lost file is the sum of the files' words times their factors
}

// survivors opens the sound files of the group, and one sound parity file for each lost file.
func (p *PosixFile) survivors(ctx context.Context) (*survivors, error) {
	s := &survivors{files: map[int]vfs.File{}, factor: map[int]uint16{}}
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
	inv, err := invertField(k, s.parity, s.lost)
	if err != nil {
		return err
	}
	for n, i := range s.parity {
		x := inv[slices.Index(s.lost, rank)][n]
		s.factor[k+i] = x
		for j := range k {
			if !slices.Contains(s.lost, j) {
				s.factor[j] ^= mulField(x, code(k, i, j))
			}
		}
	}
	return nil
}

// sum computes the words of the rebuilt file from byte at on, and stores them in to. buf is scratch memory of the same length.
func (s *survivors) sum(to, buf []byte, at int64) error {
	clear(to)
	for i, f := range s.files {
		x := s.factor[i]
		if x == 0 {
			continue
		}
		clear(buf)
		if _, err := f.ReadAt(buf, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var lo, hi [256]uint16
		for b := range 256 {
			lo[b], hi[b] = mulField(x, uint16(b)), mulField(x, uint16(b)<<8)
		}
		for n := 0; n < len(buf); n += 2 {
			w := binary.LittleEndian.Uint16(to[n:]) ^ lo[buf[n]] ^ hi[buf[n+1]]
			binary.LittleEndian.PutUint16(to[n:], w)
		}
	}
	return nil
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

// code returns the factor of rank j's words in parity file i of a group of k ranks.
func code(k, i, j int) uint16 { return invField(uint16(i ^ (k + j))) }

// invertField inverts the matrix of code for some parity files and as many lost ranks. Row n of the result has the factors by
// which lost rank n is computed from the parity files.
func invertField(k int, parity, lost []int) ([][]uint16, error) {
	n := len(lost)
	a := make([][]uint16, n)
	for r := range a {
		a[r] = make([]uint16, 2*n)
		for c := range n {
			a[r][c] = code(k, parity[r], lost[c])
		}
		a[r][n+r] = 1
	}
	for c := range n {
		pivot := slices.IndexFunc(a[c:], func(row []uint16) bool { return row[c] != 0 })
		if pivot < 0 {
			return nil, fmt.Errorf("too few parity files: %w", ErrMissing)
		}
		a[c], a[c+pivot] = a[c+pivot], a[c]
		f := invField(a[c][c])
		for i := range a[c] {
			a[c][i] = mulField(a[c][i], f)
		}
		for r := range a {
			if f := a[r][c]; r != c && f != 0 {
				for i := range a[r] {
					a[r][i] ^= mulField(f, a[c][i])
				}
			}
		}
	}
	for r := range a {
		a[r] = a[r][n:]
	}
	return a, nil
}
