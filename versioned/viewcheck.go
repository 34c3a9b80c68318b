package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/versioned/arrays"
)

// Finding is a result of Check: an error, or a note if no data are lost.
type Finding = fault.Finding

// wordsOf converts an error to a finding whose message is the complete text of the error.
func wordsOf(err error) Finding {
	return Finding{Severity: fault.Error, Offset: -1, Msg: err.Error(), Err: err}
}

// Check finds all faults of the store. It reads every byte and reports files that are missing or have changed since the commit,
// and chunks that do not match their digests. It yields notes about files that do not belong to the store. progress, if not
// nil, receives the number of bytes read and the total.
func (v *View) Check(ctx context.Context, progress func(done, total int64)) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		total, done := int64(0), int64(0)
		for _, f := range v.rec.Files {
			total += f.Size
		}
		for i := range v.rec.Files {
			f := &v.rec.Files[i]
			err := v.checkFile(ctx, f)
			if ctx.Err() != nil {
				return
			}
			if err != nil && !yield(fault.Of(fault.Error, filepath.Join(v.dir, f.Name), err)) {
				return
			}
			if done += f.Size; progress != nil {
				progress(done, total)
			}
		}
		if v.sealed {
			if !yield(Finding{Severity: fault.Note, Offset: -1, Msg: "elements are encrypted and were not checked without the key; only the hashes of the files were checked"}) {
				return
			}
		} else if !v.checkChunks(ctx, yield) {
			return
		}
		if !v.checkRecords(yield) {
			return
		}
		known := map[string]bool{recordName: true, secondName: true}
		for _, f := range v.rec.Files {
			known[f.Name] = true
		}
		list, _ := v.fsys.ReadDir(v.dir)
		for _, e := range list {
			text := "belongs to no committed version; the next Open removes it"
			switch {
			case durable.IsTemp(e.Name()):
				text = "unfinished file; the next Open removes it"
			case !isData(e.Name()):
				text = "belongs to another array"
			}
			if !known[e.Name()] && !yield(Finding{Severity: fault.Note, File: filepath.Join(v.dir, e.Name()), Offset: -1, Msg: text}) {
				return
			}
		}
	}
}

// checkRecords checks both records. After an interrupted commit one record is older than the other.
func (v *View) checkRecords(yield func(Finding) bool) bool {
	best, bad := readRecords(v.fsys, v.dir)
	for i, err := range bad {
		f := Finding{Severity: fault.Error, File: filepath.Join(v.dir, arrays.Seals[i]), Offset: -1, Err: err}
		var fe *fault.FormatError
		switch {
		case err == nil:
			continue
		case errors.As(err, &fe) && fe.Field == "seq":
			f.Severity, f.Msg = fault.Note, "older seal from an interrupted commit; the next commit replaces it"
		case errors.Is(err, fs.ErrNotExist) && i > 0 && best != nil && !best.Twice:
			f.Severity, f.Msg = fault.Note, "absent: the store was written without a second seal; the next commit adds it"
		case errors.Is(err, fs.ErrNotExist):
			f.Msg = "the seal is absent; the next commit rebuilds it from the other seal"
		default:
			f.Msg = err.Error() + "; the next commit rebuilds it from the other seal"
		}
		if !yield(f) {
			return false
		}
	}
	return true
}

// checkFile verifies one file against the record and its own hashes.
func (v *View) checkFile(ctx context.Context, f *fileInfo) error {
	x, err := v.cat.reader(0, f)
	if err != nil {
		return err
	}
	defer v.cat.open.put(x)
	size, err := x.f.Size()
	if err != nil {
		return err
	}
	for fd := range ffformat.Check(ctx, x.f, size, x.f.Name(), nil) {
		if fd.Severity >= fault.Error {
			return fd.AsError()
		}
	}
	return nil
}

// checkChunks verifies the chunks of each version.
func (v *View) checkChunks(ctx context.Context, yield func(Finding) bool) bool {
	before := map[[2]int64]int64{} // for each generation and segment, the last version whose chunks were verified
	for i := range v.rec.Versions {
		ver := &v.rec.Versions[i]
		g, _ := v.rec.generation(ver.Generation)
		n := elems(ver.Shape)
		good := true
		for seg := int64(0); seg*g.Seg < n; seg++ {
			if ctx.Err() != nil {
				return false
			}
			first := seg * g.Seg
			end := min(first+g.Seg, n)
			key := [2]int64{int64(g.ID), seg}
			last, ok := before[key]
			if !ok {
				last = -1
			}
			x, err := v.cat.index(ctx, g, int(seg))
			if err == nil {
				err = x.holds(ver.Number, 0, ((end-first)*v.cat.size-1)/v.cat.chunk)
			}
			if err != nil {
				err = fmt.Errorf("version %d, elements %d to %d: %w", ver.Number, first, end, err)
			} else {
				before[key] = ver.Number
				err = v.newChunks(ctx, x, ver, last, g, int(seg))
			}
			good = good && err == nil
			if err != nil && ctx.Err() == nil && !yield(wordsOf(err)) {
				return false
			}
		}
		if !good || ver.Sum == "" {
			continue
		}
		if _, same, err := v.cat.stateOf(ctx, g, ver); err == nil && !same {
			err := fault.At(v.spec.Name, -1, "sum", ErrCorrupt, "version %d: the chunks differ from the committed chunks, want %s", ver.Number, ver.Sum)
			if !yield(wordsOf(err)) {
				return false
			}
		}
	}
	return true
}

// newChunks verifies those chunks of a segment in version ver that are newer than version last, the version that was verified
// before. The other chunks were verified with version last. The error names the first bad chunk and the number of bad chunks.
func (v *View) newChunks(ctx context.Context, x *segIndex, ver *verInfo, last int64, g *geometry, seg int) error {
	tmp := make([]byte, v.cat.chunk)
	ce := v.cat.chunk / v.cat.size
	var first error
	bad := 0
	for k := range x.chunks {
		p, ok := x.find(int64(k), ver.Number)
		if !ok || p.since <= last {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := v.cat.readChunk(seg, p, tmp); err != nil {
			bad++
			if first == nil {
				at := int64(seg)*g.Seg + int64(k)*ce
				first = fmt.Errorf("version %d, elements %d to %d: %w", ver.Number, at, at+ce, err)
			}
		}
	}
	if bad > 1 {
		return fmt.Errorf("%w; and %d more chunks", first, bad-1)
	}
	return first
}
