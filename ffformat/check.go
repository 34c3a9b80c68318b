package ffformat

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"blobio/internal/base/par"

	"blobio/internal/base/fault"
)

// Check yields all findings about a file: first those about the file as a whole, then about its records, its chunks and its
// checksum. The last finding is a note that lists the ids that no hash of the file covers (in FTI's own files). Check examines
// damaged and torn files as far as it can find their records. If ctx ends or r fails, Check yields this error as a finding,
// too. No goroutine runs while Check yields a finding.
func Check(ctx context.Context, r io.ReaderAt, size int64, name string, o *Options) iter.Seq[Finding] {
	if o == nil {
		o = &Options{}
	}
	return func(yield func(Finding) bool) {
		c := &checker{Options: *o, name: name, yield: yield}
		c.run(ctx, r, size)
	}
}

type checker struct {
	Options
	name  string
	yield func(Finding) bool
	done  bool

	rd  *Reader
	f   *File
	bad int // number of chunks whose bytes do not match their hash
	odd int // number of empty chunks whose recorded hash is not the MD5 of zero bytes
	// Among the bad chunks:
	holes int64 // bytes in blocks of zeros
	cut   int   // number of chunks whose size shrank to a multiple of a block
}

func (c *checker) report(f Finding) {
	if !c.done {
		c.done = !c.yield(f)
	}
}

func (c *checker) add(sev fault.Severity, off int64, field string, class error, format string, args ...any) {
	c.report(Finding{Severity: sev, File: c.name, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: class})
}

func (c *checker) run(ctx context.Context, r io.ReaderAt, size int64) {
	f, err := Decode(r, size, c.name, &Options{Lenient: true})
	if err != nil {
		c.report(findingOf(Error, c.name, err))
		return
	}
	c.f, c.rd = f, newReader(r, f)
	for _, err := range split(f.Damaged) {
		c.report(findingOf(Error, c.name, err))
	}
	c.fileBlock()
	if f.Parity {
		c.parity(ctx)
		return
	}
	s := c.rd.recs
	for _, fi := range s.flaws {
		c.report(fi)
	}
	for sev := Error; sev > fault.Note; sev-- {
		if n := s.more[sev]; n > 0 {
			c.add(sev, -1, "records", ErrCorrupt, "%d more errors, only the first %d are listed", n, maxFlaws)
		}
	}
	if c.done {
		return
	}
	if c.Quick {
		c.checksum(nil)
	} else {
		c.data(ctx, s)
	}
	if note := f.uncovered(); note != "" {
		c.add(fault.Note, -1, "id", nil, "%s", note)
	}
}

// split returns the errors that errors.Join joined.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

var ckptName = regexp.MustCompile(`(?:^|[^A-Za-z0-9])Ckpt(\d+)-(Rank|Pcof|RSed)\d+\.fti$`)

// fileBlock checks the fields of the file block that Decode does not need.
func (c *checker) fileBlock() {
	f, fb, t := c.f, &c.f.FB, &c.f.Layout.table().fb
	at := f.FileBlockOffset()
	if f.Hash == Fast {
		c.add(fault.Note, at, "FB.checksum", nil, "file has Fast hashes (XXH3), which FTI refuses")
	} else if (len(fb.Checksum) != 32 || !isHex([]byte(fb.Checksum))) && f.Damaged == nil {
		c.add(Error, at, "FB.checksum", ErrCorrupt, "%q, want 32 hex digits", fb.Checksum)
	}
	if f.Layout == LayoutB && f.Size < fb.FileSize && f.Damaged == nil {
		c.add(fault.Note, f.Size, "FB.fs", nil, "file ends %d bytes before the size in the file block: FTI v1.2 does not write the end of empty containers", fb.FileSize-f.Size)
	}
	if t.ckptID.len > 0 && fb.CkptID < 0 {
		c.add(fault.Warning, at+int64(t.ckptID.off), "FB.ckptId", ErrCorrupt, "%d", fb.CkptID)
	}
	if fb.MaxFs != -1 && fb.MaxFs < fb.FileSize {
		c.add(fault.Warning, at+int64(t.maxFs.off), "FB.maxFs", ErrCorrupt, "%d, want -1 or at least fs, which is %d", fb.MaxFs, fb.FileSize)
	}
	if fb.PtFs < -1 {
		c.add(fault.Warning, at+int64(t.ptFs.off), "FB.ptFs", ErrCorrupt, "%d, want -1 or a size", fb.PtFs)
	}
	m := ckptName.FindStringSubmatch(c.name)
	if m == nil {
		return
	}
	if id, err := strconv.ParseInt(m[1], 10, 32); err == nil && t.ckptID.len > 0 && int64(fb.CkptID) != id {
		c.add(fault.Warning, at+int64(t.ckptID.off), "FB.ckptId", ErrCorrupt, "%d, want %d as in the file name: the file was renamed, or the field is damaged (no hash covers it)", fb.CkptID, id)
	}
	if (m[2] == "RSed") != f.Parity {
		c.add(fault.Warning, -1, "", ErrCorrupt, "file name has %s, but parity of level 3 is %v", m[2], f.Parity)
	}
}

func (c *checker) parity(ctx context.Context) {
	if c.Quick {
		return
	}
	n := c.f.Size - c.f.Layout.fbSize()
	sum, err := c.sum(ctx, 0, n)
	switch {
	case err != nil:
		c.report(findingOf(Error, c.name, err))
	case sum != c.f.FB.Checksum:
		c.add(Error, c.f.FileBlockOffset(), "FB.checksum", ErrChecksum, "%s, but MD5 of the %d parity bytes is %s", c.f.FB.Checksum, n, sum)
	}
}

// data hashes the chunks. In layouts A and B it also hashes the other bytes that the checksum covers.
func (c *checker) data(ctx context.Context, s *structure) {
	jobs := make([]chunkJob, 0, c.f.containers())
	for p := range c.f.all() {
		if p.HasContent && !s.nowhere[p.Container] {
			jobs = append(jobs, chunkJob{c: p})
		}
	}
	var sum string
	var sumErr error
	var res []chunkResult
	var err error
	par.Do(2, 2, func(i int) {
		if i == 0 {
			res, err = c.rd.hashChunks(ctx, jobs, c.Workers)
		} else if !c.f.Layout.atEnd() {
			sum, sumErr = c.sumInline(ctx, jobs)
		}
	})
	if err != nil {
		c.report(findingOf(Error, c.name, err))
		return
	}
	hashes := map[*Container]digest{}
	for i, j := range jobs {
		hashes[j.c.Container] = res[i].hash
		c.chunk(ctx, j.c, res[i])
		if c.done {
			return
		}
	}
	if n := c.bad - maxFlaws; n > 0 {
		c.add(Error, -1, "chunks", ErrChecksum, "%d more hashes are bad, only the first %d are listed", n, maxFlaws)
	}
	if n := c.odd - maxFlaws; n > 0 {
		c.add(fault.Note, -1, "chunks", nil, "%d more empty chunks do not have the hash of empty input, only the first %d are listed", n, maxFlaws)
	}
	c.torn(len(jobs))
	switch {
	case c.f.Layout.atEnd():
		c.checksum(hashes)
	case sumErr != nil:
		if isIO(sumErr) { // a chunk's finding names any other error
			c.report(findingOf(Error, c.name, sumErr))
		}
	case sum != c.f.FB.Checksum:
		what := "all chunks"
		if c.f.Layout == LayoutA {
			what = "all bytes behind the file block"
		}
		c.add(Error, 0, "FB.checksum", ErrChecksum, "%s, but MD5 of %s is %s", c.f.FB.Checksum, what, sum)
	}
}

// chunk reports a chunk that does not match its record.
func (c *checker) chunk(ctx context.Context, p place, res chunkResult) {
	if c.bad >= maxFlaws && p.ChunkSize > 0 && (res.err != nil || res.hash != p.Hash) { // the finding would have the severity that verdict gives, but its text is omitted
		c.bad++
		return
	}
	err := c.rd.verdict(p, res)
	if err == nil {
		if p.ChunkSize == 0 && res.hash != p.Hash {
			if c.odd++; c.odd > maxFlaws {
				return
			}
			c.report(Finding{Severity: fault.Note, File: c.name, Offset: p.offset, Field: p.field() + ": hash", Var: fault.Num(p.ID),
				Msg: "hash of an empty chunk is not the hash of empty input"})
		}
		return
	}
	c.bad++
	fi := findingOf(Error, c.name, &varError{p.ID, err})
	if errors.Is(err, ErrChecksum) {
		if n := c.zeros(ctx, p); n > 0 {
			fi.Msg += fmt.Sprintf("; %d bytes of it are in blocks of zeros", n)
			c.holes += n
		}
		if p.HasCkpt && p.ChunkSize < p.ContainerSize && p.ChunkSize%zeroBlock == 0 {
			c.cut++
		}
	}
	c.report(fi)
}

// zeroBlock is the smallest block of a differential checkpoint of FTI, in bytes.
const zeroBlock = 512

// zeros returns how many bytes of a chunk are in blocks of only zeros.
func (c *checker) zeros(ctx context.Context, p place) (n int64) {
	buf := make([]byte, min(pieceSize, p.ChunkSize))
	for off := int64(0); off < p.ChunkSize && ctx.Err() == nil; off += pieceSize {
		b := buf[:min(pieceSize, p.ChunkSize-off)]
		if _, err := c.rd.read(p, b, off); err != nil {
			return n
		}
		for len(b) > 0 {
			k := min(zeroBlock, len(b))
			if isZero(b[:k]) {
				n += int64(k)
			}
			b = b[k:]
		}
	}
	return n
}

func isZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// torn adds a note about the likely cause if chunks do not match their hashes.
func (c *checker) torn(chunks int) {
	if c.bad == 0 {
		return
	}
	why := "damaged, or torn while it was updated in place (defect 3 of FTI)"
	differential := strings.Contains(c.name, "dCPFile")
	for p := range c.f.all() {
		differential = differential || p.HasCkpt
	}
	switch {
	case c.holes > 0:
		why = fmt.Sprintf("%d bytes were perhaps never written: FTI leaves such holes in a plain checkpoint after a differential one (defect 2 of FTI)", c.holes)
	case c.cut > 0:
		why = "a chunk shrank to a multiple of the block size: FTI then does not write its last block (defect 4 of FTI)"
	case differential:
		why = "a differential checkpoint, torn while it was updated in place (defect 3 of FTI) or with a stale block of equal CRC32 (defect 5 of FTI)"
	}
	c.add(fault.Note, -1, "", nil, "%d of %d chunks do not match: %s", c.bad, chunks, why)
}

// checksum tries the two checksum rules of layouts C0 to F. hashes holds the hash of each chunk with content, computed from its
// bytes. If hashes is nil, checksum uses the hashes of the records.
func (c *checker) checksum(hashes map[*Container]digest) {
	f := c.f
	if f.Hash == Fast || !f.Layout.atEnd() || f.FB.Checksum == "" {
		return
	}
	stored := readerChecksum(f.Blocks)
	if f.FB.Checksum == stored {
		return
	}
	if hashes != nil && f.FB.Checksum == c.recomputed(hashes) {
		c.add(fault.Warning, f.metaOffset(), "VMD.hash", ErrChecksum, "the checksum matches the chunks, but not the hashes in the headers, so the headers are damaged")
		return
	}
	at := f.FileBlockOffset()
	if f.FB.Checksum == writerChecksum(f.Blocks) {
		c.add(fault.Warning, at, "FB.checksum", ErrChecksum, "%s, which only the writer's rule gives (the hashes of all containers, %d of them empty): "+
			"FTI v1.3 and later cannot recover this file, because the rule of their reader gives %s (defect 1 of FTI)", f.FB.Checksum, c.empty(), stored)
		return
	}
	c.add(Error, at, "FB.checksum", ErrChecksum, "%s, but the reader's rule gives %s and the writer's rule gives %s", f.FB.Checksum, stored, writerChecksum(f.Blocks))
}

func (c *checker) empty() (n int) {
	for p := range c.f.all() {
		if !p.HasContent {
			n++
		}
	}
	return n
}

func (c *checker) recomputed(hashes map[*Container]digest) string {
	h := md5.New()
	for p := range c.f.all() {
		if d := hashes[p.Container]; p.HasContent {
			h.Write(d[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sumInline computes the checksum of layout A (all bytes behind the file block) or B (all chunks).
func (c *checker) sumInline(ctx context.Context, jobs []chunkJob) (string, error) {
	if c.f.Layout == LayoutA {
		return c.sum(ctx, c.f.Layout.fbSize(), c.f.Size)
	}
	h := md5.New()
	buf := make([]byte, pieceSize)
	for _, j := range jobs {
		for off := int64(0); off < j.c.ChunkSize; off += pieceSize {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			b := buf[:min(pieceSize, j.c.ChunkSize-off)]
			if _, err := c.rd.read(j.c, b, off); err != nil {
				return "", err
			}
			h.Write(b)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sum returns the MD5 of the bytes [from, to) of the file as hex digits.
func (c *checker) sum(ctx context.Context, from, to int64) (string, error) {
	d, err := md5Of(ctx, c.rd.r, from, to-from)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fault.At(c.name, -1, "", ErrTruncated, "file ends before byte %#x, want %d bytes", to, c.f.Size)
	}
	return hex.EncodeToString(d[:]), err
}
